#!/bin/bash
#SBATCH --gpus-per-task=1

srun python train.py --config conf/base.yaml
