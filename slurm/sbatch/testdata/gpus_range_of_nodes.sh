#!/bin/bash
#SBATCH -N 2-4
#SBATCH -G 6

srun python train.py --config conf/base.yaml
