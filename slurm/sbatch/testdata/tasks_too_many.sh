#!/bin/bash
#SBATCH --nodes=2 --ntasks=9 --ntasks-per-node=4

srun python train.py --config conf/base.yaml
