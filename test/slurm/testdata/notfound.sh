#!/bin/bash
#SBATCH --mem=50
no-such-program-at-all
