#!/bin/bash
#SBATCH -N 2 -n 4 --threads-per-core=1 --sockets-per-node=2 --cores-per-socket=8

srun python train.py --config conf/base.yaml
