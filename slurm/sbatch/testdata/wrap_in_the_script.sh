#!/bin/bash
#SBATCH --wrap=hostname
