#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 --mem=100
cat > several <<'X'
# one program for each kind of task
0 sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $0' a%t
1,3 sh -c 'exit $0' %o

* echo rest of \
  them '%t' %t %o e\'q %%t
X
srun -l --multi-prog several more 2> several.err | sort; echo several ${PIPESTATUS[0]}
try() { cat > config; srun -n2 --multi-prog config 2> "$1.err" | sort; echo "$1" ${PIPESTATUS[0]}; }
try gap <<< '0 echo a'
try twice <<< $'0-1 echo a\n1 echo b'
try much <<< '0-5 echo a'
try empty <<< '0'
try letters <<< 'x echo'
try star <<< $'* echo a\n0 echo b'
try turned <<< $'1-0 echo a\n* echo b'
try notfound <<< $'0 no-such-program\n1 echo found'
srun -n2 --multi-prog no-such-file 2> nofile.err; echo nofile $?
rm several config
