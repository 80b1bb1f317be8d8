#!/bin/bash
#SBATCH --container-name=train --container-entrypoint-log
#SBATCH --container-readonly --container-remap-root
true
