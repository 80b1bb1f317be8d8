#!/bin/bash
#SBATCH --constrain=ib --tasks-per-node=2 --part gpu --gpus-per-n=2 --cpus-per-ta 4 --outp=out.log

srun python train.py --config conf/base.yaml
