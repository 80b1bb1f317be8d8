#!/bin/bash
#SBATCH --gpus=1
#SBATCH -S 2

srun python train.py --config conf/base.yaml
