#!/bin/bash
#SBATCH --dependency=afterburstbuffer:12

srun python train.py --config conf/base.yaml
