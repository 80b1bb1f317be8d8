#!/bin/bash
#SBATCH --time=1-00:00:30
#SBATCH --gres=gpu:1

srun python train.py --config conf/base.yaml
