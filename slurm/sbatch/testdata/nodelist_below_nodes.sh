#!/bin/bash
#SBATCH -w gpu01 -N 2

srun python train.py --config conf/base.yaml
