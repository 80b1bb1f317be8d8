#!/bin/bash
#SBATCH --gres=gpu:h100:2(S:0-1)
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
