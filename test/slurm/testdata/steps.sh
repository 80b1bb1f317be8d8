#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 --mem=100 --time=5
srun -l hostname >/dev/null; echo hostname $?
srun -N1 -n1 bash -c 'echo $SLURM_NNODES $SLURM_JOB_NUM_NODES $SLURM_STEP_ID'
for i in 1 2 3; do srun -N1 -n1 --exact --mem=10 bash -c 'echo done > bg-'$i & done
wait
x=$(srun -n2 echo captured); echo "$x"
srun -w "$(scontrol show hostnames | tail -1)" -N1 -n1 bash -c 'echo $SLURMD_NODENAME $SLURM_NODEID'
srun -r 1 -N1 -n1 bash -c 'echo $SLURMD_NODENAME $SLURM_NODEID'
echo one two | srun -n1 -N1 cat
srun -n2 -N1 bash -c 'read x; echo "$x"' <<< input
srun -N3 true 2>/dev/null; echo more nodes $?
srun -N2 -n1 true; echo fewer tasks $?
srun --no-such-option true 2>/dev/null; echo option $?
srun 2>/dev/null; echo nothing $?
srun -n x true 2>/dev/null; echo value $?
umask 027; srun -n1 -N1 bash -c umask
srun -n4 bash -c 'echo $SLURM_NTASKS $SLURM_NPROCS $SLURM_STEP_TASKS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_DISTRIBUTION' | sort
srun -v -n1 -N1 bash -c 'echo $SRUN_DEBUG' 2>/dev/null
srun -J other -n1 -N1 bash -c 'echo $SLURM_JOB_NAME'
srun --export=ALL,A=7 -n1 -N1 bash -c 'echo $A $SLURM_JOB_ID' | sed 's/ .*//'
srun -n2 -o both.%j bash -c 'echo $SLURM_PROCID'; sort -o both.$SLURM_JOB_ID both.$SLURM_JOB_ID
srun --label -n2 -N1 bash -c 'echo a; echo b' | sort
