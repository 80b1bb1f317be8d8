#!/bin/bash
#SBATCH --constraint=a||b

srun python train.py --config conf/base.yaml
