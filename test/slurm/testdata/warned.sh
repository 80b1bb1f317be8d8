#!/bin/bash
#SBATCH --mem=50 -t 5 --signal=B:USR1@30 --requeue
trap 'echo got it' USR1
kill -USR1 $$
echo $SLURM_RESTART_COUNT
