#!/bin/bash
#SBATCH --export="ALL,SEED=3,LIST='a,b',WANDB_MODE"

srun python train.py --config conf/base.yaml
