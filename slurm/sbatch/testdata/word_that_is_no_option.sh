#!/bin/bash
#SBATCH --gpus=1
#SBATCH --hold yes

srun python train.py --config conf/base.yaml
