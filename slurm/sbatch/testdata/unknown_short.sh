#!/bin/bash
#SBATCH -G 1 -Z 3

srun python train.py --config conf/base.yaml
