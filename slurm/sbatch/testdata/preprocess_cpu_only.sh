#!/bin/bash
#SBATCH --job-name=tokenize
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=120G
#SBATCH --time=8:00:00
#SBATCH --hint=nomultithread

python tokenize.py --workers "$SLURM_CPUS_PER_TASK"
