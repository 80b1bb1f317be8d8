#!/bin/bash
#SBATCH -a [0-4]%2 --gpus=1 -o %A_%a.out

srun python train.py --config conf/base.yaml
