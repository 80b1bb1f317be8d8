#!/bin/bash
#SBATCH --exclusive=mcs --gpus=1

srun python train.py --config conf/base.yaml
