#!/bin/bash
#SBATCH --time=1
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
