#!/bin/bash
#SBATCH --gpus=1 --time=10
#SBATCH --gpus=4 --requeue
#SBATCH -t 20 --no-requeue

srun python train.py --config conf/base.yaml
