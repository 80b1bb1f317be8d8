#!/bin/bash
#SBATCH -G 2 -n 1 --cpus-per-gpu=1 --mem-per-gpu=100
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
