#!/bin/bash
#SBATCH --mail-type=ALL --mail-user=ada@site.example --licenses=matlab:1 --hint=compute_bound
#SBATCH --gpu-bind=none --switches=1@10 --tmp=10G --profile=all --overcommit --network=ib
#SBATCH --licenses=matlab:2 --ntasks-per-core=1 --wckey=w --time-min=10 --mem-bind=local
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml
