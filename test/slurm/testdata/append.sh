#!/bin/bash
#SBATCH --open-mode=append -o kept --mem=100
echo new
