#!/bin/bash
#SBATCH -t 1440
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
