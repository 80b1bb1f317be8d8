#!/usr/bin/env python3
#SBATCH --gpus=1
#SBATCH -t 5
import torch
#SBATCH --gpus=2
