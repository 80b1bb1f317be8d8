#!/bin/bash
#SBATCH --time=10-23
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
