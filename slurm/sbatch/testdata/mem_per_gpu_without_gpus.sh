#!/bin/bash
#SBATCH --mem-per-gpu=10G -n 4

srun python train.py --config conf/base.yaml
