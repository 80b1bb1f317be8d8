#!/bin/bash
#SBATCH -N 2 --gpus-per-node=2 --mem=100
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
