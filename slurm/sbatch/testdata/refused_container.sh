#!/bin/bash
#SBATCH --gpus=1
#SBATCH --container=bundle

srun python train.py --config conf/base.yaml
