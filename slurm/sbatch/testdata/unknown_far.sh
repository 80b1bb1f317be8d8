#!/bin/bash
#SBATCH --walltime=3

srun python train.py --config conf/base.yaml
