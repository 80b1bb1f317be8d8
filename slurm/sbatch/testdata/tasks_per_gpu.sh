#!/bin/bash
#SBATCH --ntasks=16 --ntasks-per-gpu=2

srun python train.py --config conf/base.yaml
