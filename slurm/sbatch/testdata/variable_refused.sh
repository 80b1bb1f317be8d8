#!/bin/bash
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml

#: env SLURM_CLUSTERS=north
