#!/bin/bash
#SBATCH --gpus=8 --gpus-per-node=4 --ntasks-per-gpu=1

srun python train.py --config conf/base.yaml
