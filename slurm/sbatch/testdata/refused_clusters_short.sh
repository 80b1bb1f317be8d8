#!/bin/bash
#SBATCH --gpus=1
#SBATCH -M north

srun python train.py --config conf/base.yaml
