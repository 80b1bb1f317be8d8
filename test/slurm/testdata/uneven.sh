#!/bin/bash
#SBATCH --nodes=2 --ntasks=3 --mem=100
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
srun -m cyclic bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_GTIDS' | sort > cyclic
srun -m block bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_GTIDS' | sort > block
srun -m plane=2 bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_GTIDS' | sort > plane
