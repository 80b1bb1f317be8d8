#!/bin/bash
#SBATCH --ntasks=4 --tres-per-task=cpu:8,gres/gpu:h100:1

srun python train.py --config conf/base.yaml
