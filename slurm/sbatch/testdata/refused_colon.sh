#!/bin/bash
#SBATCH --gpus=1 : --ntasks=4

srun python train.py --config conf/base.yaml
