#!/bin/bash
#SBATCH -o kept --mem=100
echo new
srun -o step bash -c 'echo 1'
srun -o step --open-mode=append bash -c 'echo 2'
srun -o step2 bash -c 'echo 1'
srun -o step2 bash -c 'echo 2'
