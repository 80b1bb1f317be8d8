#!/bin/bash
#SBATCH -N 2 --exclusive

srun python train.py --config conf/base.yaml
