#!/bin/bash
#SBATCH --array=0-31%4
#SBATCH --gres=gpu:v100:1
#SBATCH -c 4 --mem=16G -t 90
#SBATCH -o runs/%A_%4a.out
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=ada@site.example

python sweep.py --index "$SLURM_ARRAY_TASK_ID"
