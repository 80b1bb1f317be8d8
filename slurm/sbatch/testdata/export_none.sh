#!/bin/bash
#SBATCH --export=NONE --get-user-env --gpus=1

srun python train.py --config conf/base.yaml
