#!/bin/bash
#SBATCH --gpus=1
#SBATCH --cpu-per-task=4

srun python train.py --config conf/base.yaml
