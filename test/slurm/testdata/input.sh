#!/bin/bash
#SBATCH -i given --mem=100
read first
echo "script $first"
srun cat
