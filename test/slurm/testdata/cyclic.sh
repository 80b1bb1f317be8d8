#!/bin/bash
#SBATCH --nodes=2 --ntasks=3 --distribution=cyclic --mem=100
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
