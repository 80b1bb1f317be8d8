#!/bin/bash
#SBATCH --gpus-per-socket=2 --sockets-per-node=2 -N 2

srun python train.py --config conf/base.yaml
