#!/bin/bash
#SBATCH --gpus=1 --mem
#SBATCH --time=10

srun python train.py --config conf/base.yaml
