#!/bin/bash
# quickstart (quickstart.fexp): 6 cells as 6 tasks, one cell each.
#
#     cd THIS_FOLDER && sbatch slurm.sh         all of them
#     sbatch --array=3,7-9 slurm.sh             some of them
#     SLURM_ARRAY_TASK_ID=3 ./slurm.sh          one of them here, without Slurm
#     fairc run . --collect                     afterwards: one run directory, and what is missing
#
# Nodes need fairc with its endpoints, and what its engine uml needs: docs/run/cluster.md.
#SBATCH --job-name=fairc-quickstart
#SBATCH --array=0-5%6
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2560M
#SBATCH --time=00:15:00
#SBATCH --output=logs/%A_%a.out
#SBATCH --open-mode=append
#SBATCH --requeue
set -eu
# exec: a preempted task's SIGTERM reaches fairc itself, which then leaves nothing behind.
exec fairc cell . --index "$SLURM_ARRAY_TASK_ID" --chunk 1
