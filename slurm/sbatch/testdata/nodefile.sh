#!/bin/bash
#SBATCH --nodefile=hosts.txt --nodelist=gpu01

srun python train.py --config conf/base.yaml
