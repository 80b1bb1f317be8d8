#!/bin/bash
#SBATCH -o not/there/%j --mem=50
echo ran > ran
