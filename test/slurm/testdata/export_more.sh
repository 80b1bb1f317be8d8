#!/bin/bash
#SBATCH --export=ALL,GIVEN=5 --mem=50
env -0 | sort -z | tr '\0' '\n' > batch.env
export LATER=1
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
srun --export=MINE,X=2 bash -c 'env -0 | sort -z | tr "\0" "\n" > list-$SLURM_PROCID.env'
srun --export=NONE bash -c 'env -0 | sort -z | tr "\0" "\n" > none-$SLURM_PROCID.env'
