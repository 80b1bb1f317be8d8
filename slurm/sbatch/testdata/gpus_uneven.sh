#!/bin/bash
#SBATCH -N 2
#SBATCH -G 3

srun python train.py --config conf/base.yaml
