#!/bin/bash
#SBATCH --gpus=1
#SBATCH --clusters=north

srun python train.py --config conf/base.yaml
