#!/bin/bash
#SBATCH -c 8
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4

srun python train.py --config conf/base.yaml
