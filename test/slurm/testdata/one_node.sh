#!/bin/bash
# One node, one task, with memory, time and a name of its own.
#SBATCH --job-name=one
#SBATCH --mem=300 --time=10
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
echo out
pwd
exit 3
