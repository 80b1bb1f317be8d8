#!/bin/bash
#SBATCH -N 2 -n 8 -m cyclic:block

srun python train.py --config conf/base.yaml
