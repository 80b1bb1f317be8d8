#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=a100:4

srun python train.py --config conf/base.yaml
