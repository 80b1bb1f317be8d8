#!/bin/bash
#SBATCH --time=90:30
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
