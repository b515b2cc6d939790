#!/usr/bin/env bash
# Takes a sample of the lines of its input, which are names of tests:
#   sample.sh PART: one line of PART, from the place that the commit's hash chooses.
# SAMPLE_SEED: a number in place of the hash, to repeat a sample; it is printed to stderr. all: every line, as with PART 1.
cd "$(dirname "$0")/.." || exit 3
seed=${SAMPLE_SEED:-$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}
part=${1:?}
[ "$seed" != all ] || part=1 seed=0
[ "$part" = 1 ] || echo "# one of $part, SAMPLE_SEED=$seed" >&2
awk -v part="$part" -v seed="$seed" '(NR + seed) % part == 0'
