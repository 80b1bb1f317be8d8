echo in the allocation
env -0 | grep -z ^SLURM_ | sort -z | tr '\0' '\n' > salloc.env
srun -l bash -c 'echo task $SLURM_PROCID' | sort
exit 9
