#!/bin/bash
#SBATCH --gpus=v100:4 --gpus-per-node=a100:4

srun python train.py --config conf/base.yaml
