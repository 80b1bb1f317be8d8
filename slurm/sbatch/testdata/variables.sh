#!/bin/bash
#SBATCH --gpus=1

srun python train.py --config conf/base.yaml

#: env SBATCH_ACCOUNT=nlp
#: env SBATCH_JOB_NAME=from env
#: env SBATCH_REQUEUE=1
#: env SBATCH_WAIT=no
#: env SBATCH_EXCLUSIVE=
#: env SBATCH_PARTITION=
#: env SBATCH_ARRAY_INX=1-3
#: env SBATCH_DEBUG=2
#: env SLURM_HINT=nomultithread
