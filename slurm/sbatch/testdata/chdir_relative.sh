#!/bin/bash
#SBATCH --chdir=sub --input=data.txt --output=%x.%N.log --gpus=1

srun python train.py --config conf/base.yaml
