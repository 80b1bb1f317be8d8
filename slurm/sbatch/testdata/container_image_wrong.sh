#!/bin/bash
#SBATCH --container-image=Team/Image
true
