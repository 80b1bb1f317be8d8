#!/bin/bash
#SBATCH --mem=50
kill -USR2 $$
