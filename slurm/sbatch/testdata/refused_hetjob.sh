#!/bin/bash
#SBATCH --gpus=1
#SBATCH hetjob
#SBATCH --ntasks=4

srun python train.py --config conf/base.yaml
