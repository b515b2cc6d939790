#!/usr/bin/env bash
# A coordinator with many workers (tests/scale/crowd.sh: real connections and messages): every row once, though the
# coordinator is killed with -9; memory for each of them. `make test`: 300 workers; `make soak`: 10,000, and 100,000,000 rows.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -n "${SOAK_ROUNDS:-}" ]; then
    workers=10000 rows=100000000 step_ms=2000 most_kb=32
else
    # Few workers: what does not depend on their number is more of it.
    workers=300 rows=12000000 step_ms=100 most_kb=48
fi
FORM=rows KILL=yes bash tests/scale/crowd.sh $workers $rows $step_ms 4096 >"$folder/figures" 2>"$folder/errors"
code=$?
value() { awk -F'\t' -v name="$1" '$1 == name { print $2 }' "$folder/figures"; }
all_is_done() { [ $code = 0 ] && [ "$(value items)" = $rows ]; }
is_small() { awk -v kb="$(value "KiB a worker")" -v most=$most_kb 'BEGIN { exit !(kb > 0 && kb <= most) }'; }
all_come_back() { [[ $(value "seconds from the kill until all were back") =~ ^[0-9.]+$ ]]; }
check "$workers workers: each of $rows rows is done once, though the coordinator is killed" all_is_done
check "$workers workers: at most $most_kb KiB of the coordinator for each" is_small
check "$workers workers: all are connected to the second coordinator" all_come_back
[ $failures = 0 ] || cat "$folder/figures" "$folder/errors"
sed 's/^/# /' "$folder/figures"
exit $((failures > 0))
