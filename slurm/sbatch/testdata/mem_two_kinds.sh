#!/bin/bash
#SBATCH --mem=64G
#SBATCH --gpus=2
#SBATCH --mem-per-cpu=4G

srun python train.py --config conf/base.yaml
