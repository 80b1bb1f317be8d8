#!/bin/bash
#SBATCH --gpus=1
#SBATCH --bb="capacity=10G"

srun python train.py --config conf/base.yaml
