#!/bin/bash
#SBATCH --exclusive --gres=gpu:2

srun python train.py --config conf/base.yaml
