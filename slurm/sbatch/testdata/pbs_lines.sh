#!/bin/bash
#PBS -l walltime=1:00:00
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml
