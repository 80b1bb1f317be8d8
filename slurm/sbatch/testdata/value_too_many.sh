#!/bin/bash
#SBATCH --hold=yes

srun python train.py --config conf/base.yaml
