#!/bin/bash
#SBATCH --time=1-0:30
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
