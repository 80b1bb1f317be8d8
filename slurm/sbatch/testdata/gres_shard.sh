#!/bin/bash
#SBATCH --gres=shard:4
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
