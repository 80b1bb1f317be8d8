#!/bin/bash
#SBATCH -D sub -o o-%x-%j-%4j-%u-%N-%n-%t-%%-%A-%a.txt -e e-%x.%J.%s.txt -J nice --mem=100
echo out; echo err >&2
pwd
srun -o s-%j-%s-%J-%t-%n-%N echo step
srun -o s2-%2t-%5j hostname >/dev/null
srun -e s3-%t bash -c 'echo o; echo e >&2'
srun -o none echo nothing
