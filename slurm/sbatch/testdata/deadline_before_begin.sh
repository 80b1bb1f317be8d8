#!/bin/bash
#SBATCH --begin=tomorrow --deadline=teatime --gpus=1

srun python train.py --config conf/base.yaml
