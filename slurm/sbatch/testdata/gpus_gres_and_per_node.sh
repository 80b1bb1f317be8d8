#!/bin/bash
#SBATCH --gres=gpu:2
#SBATCH --gpus-per-node=3

srun python train.py --config conf/base.yaml
