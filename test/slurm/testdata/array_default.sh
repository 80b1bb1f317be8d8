#!/bin/bash
#SBATCH -a 2,7 --mem=50
echo task $SLURM_ARRAY_TASK_ID
