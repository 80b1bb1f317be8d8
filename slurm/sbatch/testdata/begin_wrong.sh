#!/bin/bash
#SBATCH --begin=soon

srun python train.py --config conf/base.yaml
