#!/bin/bash
#SBATCH --gres=gpu:a100_3g.20gb:1
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
