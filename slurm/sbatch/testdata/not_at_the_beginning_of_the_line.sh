#!/bin/bash
 #SBATCH --gpus=8
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml
