#!/bin/bash
#SBATCH -n 2 -c 2 --nodes=2 --mem-per-cpu=100
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
srun -c 2 bash -c 'env -0 | sort -z | tr "\0" "\n" > cores-$SLURM_PROCID.env'
