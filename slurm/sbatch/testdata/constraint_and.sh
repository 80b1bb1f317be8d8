#!/bin/bash
#SBATCH -C "a100&nvlink" --gpus=1

srun python train.py --config conf/base.yaml
