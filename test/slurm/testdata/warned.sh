#!/bin/bash
#SBATCH --mem=100 -t 5 --signal=B:USR1@20 --requeue
trap 'echo got it' USR1
kill -USR1 $$
echo $SLURM_RESTART_COUNT
