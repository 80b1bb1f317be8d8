#!/bin/bash
#SBATCH --mem=20 -N1 -n2
# each task waits for a signal by wait, which a trap ends at once
catch='trap "echo $SLURM_PROCID caught; kill %1 2> /dev/null; exit 4" USR1; sleep 600 & echo > ready-$SLURM_PROCID; wait'
pause() { read -t 0.1 < <(:); }
up() { until [ -e ready-0 ] && [ -e ready-1 ]; do pause; done; rm ready-*; }
trap 'echo script caught' USR1
trap 'echo script has the other; other=1' USR2
srun -l bash -c "$catch" > tasks 2> tasks.err & step=$!
up
scancel -s USR1 $SLURM_JOB_ID; wait $step; echo tasks $?
sort tasks > sorted; rm tasks
scancel -s USR2 -b $SLURM_JOB_ID
until [ -n "$other" ]; do pause; done
srun -l bash -c "$catch" > step 2> step.err & step=$!
up
scancel -s USR1 $SLURM_JOB_ID.1; wait $step; echo step $?
sort step > sorted-step; rm step
