#!/bin/bash
#SBATCH --gres=gpu:a100:1,gpu:v100:1
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
