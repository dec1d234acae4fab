#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A probe split over a Slurm job array, one part of the variants on each node. Send it off and merge the parts:
#   sbatch --array=1-8 resources/guides/probe-array.sh flux.1-dev --width 1024 --height 1024 --target h100
#   attnctl probe merge probe-parts/*.json -o probe.json --plot probe.svg
# A part that is cut off or requeued goes on where it was. All parts need machines of one kind: name a partition or a
# constraint that has one; merge refuses a mix (--mixed takes it all the same and says so). A whole node for each part,
# as what else runs there is in the times. Without Slurm the same lines do in a loop or on several machines by hand:
# --shard 1/8, --shard 2/8, ...
#SBATCH --job-name=attnctl-probe
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@60
#SBATCH --output=probe-%A_%a.log
set -euo pipefail

parts=${PROBE_PARTS:-probe-parts}
mkdir -p "$parts"
# The array has to begin with 1, as --array=1-8 does.
shard=$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
exec attnctl probe "$@" --shard "$shard" -o "$parts/${SLURM_ARRAY_TASK_ID}.json" --resume
