#!/bin/bash
#SBATCH --mem-per-cpu=4G --exclusive -N 2

srun python train.py --config conf/base.yaml
