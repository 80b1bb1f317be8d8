#!/bin/bash
#SBATCH -N 4
#SBATCH -n 2 --gpus-per-node=1

srun python train.py --config conf/base.yaml
