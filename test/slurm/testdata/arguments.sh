#!/bin/bash
#SBATCH --mem=100
printf '<%s>\n' "$@"
echo $#
[ -t 0 ]; echo terminal $?
cat | wc -c
echo umask $(umask)
ulimit -c
case $0 in *slurm_script*) echo slurm_script;; *) echo "name $0";; esac
