#!/bin/bash
#SBATCH --time=UNLIMITED
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
