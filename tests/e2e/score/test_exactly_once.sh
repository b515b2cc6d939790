#!/usr/bin/env bash
# Exactly once: a job of 400 mini-batches (2,000 in a soak) through `windlass run` while workers, its coordinator and
# windlass itself are killed with -9, and 5 % of the tries of a user's program fail (or crash) and 2 % hang.
# Whatever is killed, the output is byte for byte that of an undisturbed run, every mini-batch counts once in the
# commits, and no files of tries are left.
#   `make test` draws two of the four kinds of jobs. SOAK_SEED (1) decides which process dies when; ONCE_ROUNDS (3, in a
#   soak SOAK_ROUNDS / 10): the number of runs, and as many again of a slow program (one in `make test`); ONCE_BATCHES (100
#   of the slow one); ONCE_KIND (0 to 3): only that kind of job; ONCE_PARTS (1, in a soak 8): the number of processes that
#   share the rounds of the slow program, which takes hardly any processor time; ONCE_PART: only one of them. The soak of
#   the slow one alone, 200 rounds:
#       SOAK_SEED=1 SOAK_ROUNDS=2000 ONCE_KIND=3 bash tests/e2e/score/test_exactly_once.sh
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
# beside VARIABLE VALUE...: this script with each of them, all at the same time; and ends.
beside() {
    local logs at variable=$1 running=()
    shift
    logs=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder's name now
    trap "kill \$(jobs -p) 2>/dev/null; wait; rm -rf '$logs'" EXIT
    for at in "$@"; do
        env "$variable=$at" bash "$0" >"$logs/$at" 2>&1 &
        running+=($!)
    done
    for at in "${running[@]}"; do wait "$at" || failures=$((failures + 1)); done
    for at in "$@"; do cat "$logs/$at"; done
    exit $((failures > 0))
}
# The kinds of jobs beside each other: most of a run is waiting until dead processes are replaced.
if [ -z "${ONCE_KIND:-}" ]; then
    draw "kinds of jobs" 2 0 1 2 3
    beside ONCE_KIND "${drawn[@]}"
fi
parts=1
[ "$ONCE_KIND" != 3 ] || parts=${ONCE_PARTS:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 1 || echo 8)}
# shellcheck disable=SC2046 # one word for each number
[ "$parts" = 1 ] || [ -n "${ONCE_PART:-}" ] || beside ONCE_PART $(seq 0 $((parts - 1)))
rounds=${ONCE_ROUNDS:-$(((${SOAK_ROUNDS:-30} + 9) / 10))}
batches=${ONCE_BATCHES:-$([ -n "${SOAK_ROUNDS:-}" ] && echo 2000 || echo 400)}
if [ "$ONCE_KIND" = 3 ]; then
    batches=100
    [ -n "${SOAK_ROUNDS:-}${ONCE_ROUNDS:-}" ] || rounds=1
    kind_of() { echo 3; }
fi
seed=${SOAK_SEED:-1}
in=data out=data/out
reset_output() { discard "$work/data/out" "$work/out"; }
collect_output() { ln -sfn data/out "$work/out"; }
# Three deaths before the first known mini-batch end a job, which happened on a busy machine.
may_hurt() { grep -qE ' [1-9][0-9]* of [0-9]' "$work/log"; }
. tests/e2e/score/once.sh
trap 'rm -rf "$work"' EXIT
make_inputs

quiet_run "$ONCE_KIND"
case $ONCE_KIND in
0) check "all pictures" [ "$(wc -l <"$work/quiet.0")" = "$batches" ] ;;
1) check "one film" [ "$(wc -l <"$work/quiet.1")" = 1 ] ;;
*) check "a row for each picture" [ "$(wc -l <"$work/data/out/rows.txt")" = "$batches" ] ;;
esac
for ((number = 1 + ${ONCE_PART:-0}; number <= rounds; number += parts)); do
    [ "$(kind_of "$number")" != "$ONCE_KIND" ] || round "$number"
done
exit $((failures > 0))
