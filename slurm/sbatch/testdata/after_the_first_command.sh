#!/bin/bash
#SBATCH --gpus=1

module load cuda
#SBATCH --nodes=8

srun python train.py --config conf/base.yaml
