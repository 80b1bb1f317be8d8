#!/bin/bash
#SBATCH --gres=nvme:200
#SBATCH --time=1:00:00

srun python train.py --config conf/base.yaml
