#!/bin/bash
#SBATCH --gres=none
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
