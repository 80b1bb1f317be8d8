#!/bin/bash
#SBATCH --signal=SIGUSR2@90 --gpus=1 --time=60

srun python train.py --config conf/base.yaml
