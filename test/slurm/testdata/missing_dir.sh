#!/bin/bash
#SBATCH -D not_there --mem=100
pwd > "$SLURM_SUBMIT_DIR/pwd"
echo out
