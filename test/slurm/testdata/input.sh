#!/bin/bash
#SBATCH -i given --mem=50
read first
echo "script $first"
srun cat
