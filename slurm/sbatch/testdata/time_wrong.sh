#!/bin/bash
#SBATCH --gpus=1
#SBATCH --time=2h

srun python train.py --config conf/base.yaml
