#!/bin/bash
#SBATCH --job-name="a b"
#SBATCH --comment 'it is "new"' --constraint="a100"
#SBATCH --account=a\ b

srun python train.py --config conf/base.yaml
