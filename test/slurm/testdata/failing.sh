#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 --mem=100
srun bash -c 'exit $SLURM_PROCID' 2> exits.err; echo exits $?
srun bash -c '[ $SLURM_PROCID != 2 ] || exit 7' 2> seven.err; echo seven $?
srun bash -c 'exit 5' 2> all.err; echo all $?
srun -w node1 -n1 -N1 bash -c 'kill -TERM $$' 2> term.err; echo term $?
srun -w node1 -n1 -N1 bash -c 'kill -USR1 $$' 2> usr1.err; echo usr1 $?
srun -w node1 -n1 -N1 bash -c 'kill -KILL $$' 2> kill.err; echo kill $?
srun -w node1 -n1 -N1 bash -c 'kill -SEGV $$' 2> segv.err; echo segv $?
srun -n2 bash -c 'kill -TERM $$' 2> term2.err; echo term2 $?
srun -w node1 -n1 -N1 no-such-program 2> notfound.err; echo notfound $?
srun -N2 -n2 no-such-program a b 2> notfound2.err; echo notfound2 $?
srun -w node1 -n1 -N1 ./no-such-file 2> nofile.err; echo nofile $?
srun -w node1 -n1 -N1 /tmp 2> folder.err; echo folder $?
srun -w node1 -n1 -N1 /etc/passwd 2> notexec.err; echo notexec $?
srun -w node1 -n1 -N1 bash -c 'exit 255' 2> big.err; echo big $?
srun -K bash -c 'if [ $SLURM_PROCID = 1 ]; then exit 3; fi; sleep 29' 2> k.err; echo k $?
srun -w node1 -n2 -N1 -D /not/there pwd 2> chdir.err; echo chdir $?
srun -Q -w node1 -n1 -N1 bash -c 'exit 9' 2> quiet2.err; echo quiet2 $?
