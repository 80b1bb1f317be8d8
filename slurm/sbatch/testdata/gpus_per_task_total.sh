#!/bin/bash
#SBATCH --ntasks=8
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-gpu=6

srun python train.py --config conf/base.yaml
