#!/bin/bash
#SBATCH --dependency=afterok:1:2?after:3+5 --kill-on-invalid-dep=yes

srun python train.py --config conf/base.yaml
