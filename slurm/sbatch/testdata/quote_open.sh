#!/bin/bash
#SBATCH --gpus=1
#SBATCH --job-name="a b

srun python train.py --config conf/base.yaml
