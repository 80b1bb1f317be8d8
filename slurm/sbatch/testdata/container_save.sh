#!/bin/bash
#SBATCH --container-image=/images/a.sqsh
#SBATCH --container-save=/images/b.sqsh
true
