#!/bin/bash
#SBATCH -N 1 --gpus-per-node=4 -c 16
#SBATCH --mem=1T

srun python train.py --config conf/base.yaml
