#!/bin/bash
#SBATCH -N 2

srun python train.py --config conf/base.yaml
