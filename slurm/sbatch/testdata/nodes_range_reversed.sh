#!/bin/bash
#SBATCH --nodes=4-2

srun python train.py --config conf/base.yaml
