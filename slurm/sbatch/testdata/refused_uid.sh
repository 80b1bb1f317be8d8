#!/bin/bash
#SBATCH --gpus=1
#SBATCH --uid=1000

srun python train.py --config conf/base.yaml
