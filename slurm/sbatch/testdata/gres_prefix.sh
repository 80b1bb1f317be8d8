#!/bin/bash
#SBATCH --gres=gres/gpu:2
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
