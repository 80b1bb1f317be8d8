#!/bin/bash
#SBATCH --mem=100
kill -USR2 $$
