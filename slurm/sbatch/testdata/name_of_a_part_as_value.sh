#!/bin/bash
#SBATCH --job-name hetjob --gpus=1

srun python train.py --config conf/base.yaml
