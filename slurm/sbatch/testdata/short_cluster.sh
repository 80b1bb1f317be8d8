#!/bin/bash
#SBATCH -HQsN2 -G 2

srun python train.py --config conf/base.yaml
