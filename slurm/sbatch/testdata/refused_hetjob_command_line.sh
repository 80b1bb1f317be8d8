#!/bin/bash
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml

#: args -N 1 : -N 2 train.sh
