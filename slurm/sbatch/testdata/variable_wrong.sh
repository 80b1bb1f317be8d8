#!/bin/bash
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml

#: env SBATCH_TIMELIMIT=soon
