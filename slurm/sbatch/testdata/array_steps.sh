#!/bin/bash
#SBATCH --array=0-10:2,15 --gpus=1

srun python train.py --config conf/base.yaml
