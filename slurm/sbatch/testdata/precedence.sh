#!/bin/bash
#SBATCH --time=10 --qos=low --gpus=1 --partition=slow

srun python train.py --config conf/base.yaml

#: env SBATCH_TIMELIMIT=20
#: env SBATCH_QOS=mid
#: args -t 30 train.sh --seed 3
