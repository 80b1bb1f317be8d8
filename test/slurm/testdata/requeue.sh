#!/bin/bash
#SBATCH --requeue --mem=20 -o out --open-mode=append
echo start ${SLURM_RESTART_COUNT-none}
[ -z "$SLURM_RESTART_COUNT" ] || exit 3
trap '' TERM
srun bash -c 'echo task; echo > ready; sleep 600' 2> /dev/null &
until [ -e ready ]; do read -t 0.1 < <(:); done
scontrol requeue $SLURM_JOB_ID
wait
sleep 600
