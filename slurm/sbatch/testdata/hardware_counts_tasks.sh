#!/bin/bash
#SBATCH -N 2 --extra-node-info=2:*:2 --gpus-per-node=4

srun python train.py --config conf/base.yaml
