#!/bin/bash
#SBATCH --array=1-5:2%2 -o out_%A_%a -J arr --mem=100
env -0 | sort -z | tr '\0' '\n' > batch-$SLURM_ARRAY_TASK_ID.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_ARRAY_TASK_ID.env'
echo task $SLURM_ARRAY_TASK_ID
exit $SLURM_ARRAY_TASK_ID
