#!/bin/bash
#SBATCH --nodelist=gpu[01-02],gpu07
#SBATCH --exclude=gpu0[3-4]
#SBATCH --gpus-per-node=2

srun python train.py --config conf/base.yaml
