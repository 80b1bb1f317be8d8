#!/bin/bash
#SBATCH --exclusive --mem-per-gpu=8G

srun python train.py --config conf/base.yaml
