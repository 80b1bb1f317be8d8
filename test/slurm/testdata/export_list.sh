#!/bin/bash
#SBATCH --export=MINE,GIVEN=5 --mem=100
/usr/bin/env -0 | grep -z -E '^(SLURM|MINE|GIVEN|LATER|X)' | sort -z | tr '\0' '\n' > batch.env
srun /bin/bash -c '/usr/bin/env -0 | /usr/bin/grep -z -E "^(SLURM|MINE|GIVEN|LATER|X)" | /usr/bin/sort -z | /usr/bin/tr "\0" "\n" > task-$SLURM_PROCID.env'
