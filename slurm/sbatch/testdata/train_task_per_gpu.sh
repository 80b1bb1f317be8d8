#!/bin/bash
#SBATCH -J vit
#SBATCH -N 4
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH -c 12
#SBATCH --mem-per-cpu=4G
#SBATCH -t 1-12
#SBATCH --signal=B:USR1@240
#SBATCH --requeue
#SBATCH --open-mode=append

srun python train.py --config conf/base.yaml
