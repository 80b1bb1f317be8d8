#!/bin/bash
#SBATCH --mem=64G --gpus=1

srun python train.py --config conf/base.yaml

#: env SBATCH_MEM_PER_CPU=4G
