#!/bin/bash
#SBATCH --time=2:30:00
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
