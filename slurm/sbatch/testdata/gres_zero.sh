#!/bin/bash
#SBATCH --gres=gpu:0
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
