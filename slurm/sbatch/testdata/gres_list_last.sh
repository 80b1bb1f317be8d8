#!/bin/bash
#SBATCH --gres=gpu:2,nvme:8
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
