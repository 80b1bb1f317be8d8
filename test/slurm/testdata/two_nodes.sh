#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 -t 0:20:00
#SBATCH --mem=100M
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
srun -w node1 -N1 -n1 bash -c 'env -0 | sort -z | tr "\0" "\n" > one-$SLURM_PROCID.env'
srun -n3 bash -c 'env -0 | sort -z | tr "\0" "\n" > three-$SLURM_PROCID.env'
srun -l bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME; echo err $SLURM_PROCID >&2' > labels 2> label.err
sort -o labels labels
