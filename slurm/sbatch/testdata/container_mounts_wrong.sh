#!/bin/bash
#SBATCH --container-image=ubuntu --container-mounts=/data:data
true
