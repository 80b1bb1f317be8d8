#!/bin/bash
#SBATCH --mem=64G --gpus=1

srun python train.py --config conf/base.yaml

#: args --mem-per-gpu=10G train.sh
