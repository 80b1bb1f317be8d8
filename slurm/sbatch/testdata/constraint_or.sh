#!/bin/bash
#SBATCH -C a100|h100 --gpus=1

srun python train.py --config conf/base.yaml
