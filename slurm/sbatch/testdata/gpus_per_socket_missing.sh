#!/bin/bash
#SBATCH --gpus-per-socket=2

srun python train.py --config conf/base.yaml
