#!/bin/bash
#SBATCH --mem=20
submit() { sbatch --parsable --mem=20 -w node1 -o /dev/null --kill-on-invalid-dep=yes "$@" 2> /dev/null; }
a=$(submit --hold -a 1-2 --wrap 'echo a$SLURM_ARRAY_TASK_ID >> order; [ $SLURM_ARRAY_TASK_ID = 1 ]')
c=$(submit -a 1-2 -d aftercorr:$a --wrap 'echo c$SLURM_ARRAY_TASK_ID >> order')
b=$(submit -d after:$a --wrap 'echo b >> order')
d=$(submit -d "afterok:$a?afternotok:$a" --wrap 'echo d >> order')
e=$(submit -d "afterok:$a" --wrap 'echo e >> order')
last=$(submit -d "afterany:$b:$c:$d" --wrap 'echo last >> order')
squeue -h -j $b,$c,$d,$e -o %E | sed "s/\b$a\(_\*\)\?/A/g" | sort -u > asked
scontrol release $a
# Builtins only: bash can take the status of an earlier <(...) for that of a program with the same process number.
seen=; until [[ $seen == *last* ]]; do read -t 0.2 < <(:); [ ! -e order ] || read -r -d '' seen < order; done
sort order
at() { grep -n "^$1$" order | cut -d: -f1; }
for pair in "a1 c1" "a1 b" "a2 b" "a1 d" "a2 d"; do set -- $pair; [ $(at $1) -lt $(at $2) ] && echo $2 after $1; done
rm order
