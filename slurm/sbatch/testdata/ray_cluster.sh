#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-task=4
#SBATCH --cpus-per-task=32
#SBATCH --mem=200GB
#SBATCH --wait-all-nodes=1
#SBATCH --tmp=100G

srun --nodes=1 --ntasks=1 -w "$head" ray start --head --block &
