#!/bin/bash
#SBATCH -w gpu[01-04] -N 2

srun python train.py --config conf/base.yaml
