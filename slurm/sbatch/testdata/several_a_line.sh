#!/bin/bash
#SBATCH -N2 -n 4 --gpus-per-node 2 -c4 -Jname -t10 --mem 8G

srun python train.py --config conf/base.yaml
