#!/bin/bash
#SBATCH -N 2 -n 5 -c 3

srun python train.py --config conf/base.yaml
