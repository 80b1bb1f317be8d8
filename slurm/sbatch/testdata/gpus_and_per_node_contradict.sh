#!/bin/bash
#SBATCH --nodes=3 --gpus=8 --gpus-per-node=4

srun python train.py --config conf/base.yaml
