#!/bin/bash
#SBATCH -d afterok:1201:1202,singleton
#SBATCH -J eval
#SBATCH -G 1
#SBATCH -b now+1hour
#SBATCH --deadline=2026-01-17T18:00
#SBATCH --nice=50

python evaluate.py
