#!/bin/bash
#SBATCH --array=10-1 --gpus=1

srun python train.py --config conf/base.yaml
