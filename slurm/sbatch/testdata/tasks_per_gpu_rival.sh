#!/bin/bash
#SBATCH --ntasks-per-gpu=2 --gpus-per-task=1 -n 4

srun python train.py --config conf/base.yaml
