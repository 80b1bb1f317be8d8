#!/bin/bash
#SBATCH --gres=gpu:2 --ntasks-per-node=2 --mem=100 --comment="a b"
env -0 | sort -z | tr '\0' '\n' > batch.env
srun bash -c 'env -0 | sort -z | tr "\0" "\n" > task-$SLURM_PROCID.env'
srun -n1 --gres=gpu:1 bash -c 'env -0 | sort -z | tr "\0" "\n" > gres-$SLURM_PROCID.env'
srun -n1 --gres=none bash -c 'env -0 | sort -z | tr "\0" "\n" > none-$SLURM_PROCID.env'
