#!/bin/bash
#SBATCH --exclusive=user --gpus=1

srun python train.py --config conf/base.yaml
