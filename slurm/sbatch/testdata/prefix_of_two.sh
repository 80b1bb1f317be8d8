#!/bin/bash
#SBATCH --gpus=1 --tim=30

srun python train.py --config conf/base.yaml
