#!/usr/bin/env bash
# Takes a sample of the lines of its input, which are names of tests:
#   sample.sh PART: one line of PART, in another place with each commit: PART commits in a row take every line.
# SAMPLE_SEED: a number in place of that of commits, to repeat a sample.
cd "$(dirname "$0")/.." || exit 3
seed=${SAMPLE_SEED:-$(git rev-list --count HEAD 2>/dev/null || echo 0)}
awk -v part="${1:?}" -v seed="$seed" '(NR + seed) % part == 0'
