#!/bin/bash
#SBATCH --gpus=1
#SBATCH --environment=torch

srun python train.py --config conf/base.yaml
