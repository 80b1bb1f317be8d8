#!/bin/bash
#SBATCH --open-mode=append -o kept --mem=50
echo new
