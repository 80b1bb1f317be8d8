#!/bin/bash
#SBATCH --signal=USR9@90

srun python train.py --config conf/base.yaml
