#!/bin/bash
#SBATCH --ntasks=8 --ntasks-per-node=4 --cpus-per-task=8 --gres=gpu:4

srun python train.py --config conf/base.yaml
