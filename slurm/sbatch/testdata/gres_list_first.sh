#!/bin/bash
#SBATCH --gres=nvme:1,gpu:2
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
