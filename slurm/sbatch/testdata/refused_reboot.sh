#!/bin/bash
#SBATCH --gpus=1
#SBATCH --reboot

srun python train.py --config conf/base.yaml
