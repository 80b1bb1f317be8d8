#!/bin/bash
#SBATCH --gpus=2 # --gpus=4
##SBATCH --time=10
# SBATCH --mem=4G
#SBATCH #--nodes=2

   # a comment, and a blank line before it
#SBATCH -J night#run -N 2

srun python train.py --config conf/base.yaml
