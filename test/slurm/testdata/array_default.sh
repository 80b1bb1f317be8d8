#!/bin/bash
#SBATCH -a 2,7 --mem=100
echo task $SLURM_ARRAY_TASK_ID
