#!/bin/bash
#SBATCH --gres=gpu:A100:4
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
