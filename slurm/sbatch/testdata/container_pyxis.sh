#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=8
#SBATCH --container-image="registry.site.example#team/pytorch:25.01"
#SBATCH --container-mounts=/data:/data:ro,/scratch/out:/out
#SBATCH --container-workdir=/out --no-container-mount-home --container-writable

srun python -m megatron.train
