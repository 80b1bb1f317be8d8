#!/bin/bash
#SBATCH-N2 --gres=gpu:1

srun python train.py --config conf/base.yaml
