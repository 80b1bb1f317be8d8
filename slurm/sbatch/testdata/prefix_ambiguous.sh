#!/bin/bash
#SBATCH --gpus=1
#SBATCH --ex=gpu01

srun python train.py --config conf/base.yaml
