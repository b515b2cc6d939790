#!/usr/bin/env bash
# Plants faults in the program and sees that a test fails for each: eight of those that unit programs notice, chosen by
# the day or by SOAK_SEED; all in a soak.
set -u
cd "$(dirname "$0")/../../.." || exit 3
sample=(--sample 8 --units)
[ "${SOAK_ROUNDS:-30}" -lt 2000 ] || sample=()
# Its programs have their own trees; what they start is ended with them.
exec tests/mutants/run.py --jobs 1 --seed "${SOAK_SEED:-$(date +%j)}" "${sample[@]}"
