#!/bin/bash
#SBATCH --mem=100
no-such-program-at-all
