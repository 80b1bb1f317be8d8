#!/bin/bash
#SBATCH --gpus=1
#SBATCH --mem=1.5G

srun python train.py --config conf/base.yaml
