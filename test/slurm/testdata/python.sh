#!/usr/bin/env python3
#SBATCH --mem=100
import os, sys
print(sys.argv[1:], os.getcwd() == os.environ["SLURM_SUBMIT_DIR"])
sys.exit(4)
