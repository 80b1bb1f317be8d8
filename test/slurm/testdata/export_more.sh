#!/bin/bash
#SBATCH --export=ALL,GIVEN=5 --mem=100
/usr/bin/env -0 | grep -z -E '^(SLURM|MINE|GIVEN|LATER|X)' | sort -z | tr '\0' '\n' > batch.env
export LATER=1
srun /bin/bash -c '/usr/bin/env -0 | /usr/bin/grep -z -E "^(SLURM|MINE|GIVEN|LATER|X)" | /usr/bin/sort -z | /usr/bin/tr "\0" "\n" > task-$SLURM_PROCID.env'
srun --export=MINE,X=2 /bin/bash -c '/usr/bin/env -0 | /usr/bin/grep -z -E "^(SLURM|MINE|GIVEN|LATER|X)" | /usr/bin/sort -z | /usr/bin/tr "\0" "\n" > list-$SLURM_PROCID.env'
srun --export=NONE /bin/bash -c '/usr/bin/env -0 | /usr/bin/grep -z -E "^(SLURM|MINE|GIVEN|LATER|X)" | /usr/bin/sort -z | /usr/bin/tr "\0" "\n" > none-$SLURM_PROCID.env'
