#!/usr/bin/env bash
# Runs test programs and scripts, one after the other, and counts their lines:
#   run.sh [--show] [--beside SCRIPT] [--lanes N] PROGRAM...
#   "ok x" passes, "not ok x" fails, "skip x: why" is shown.
# --beside: that script runs while the others do, with the processor time they leave (they wait for servers most of the
# time), and is counted last. --lanes: so many run at a time, the longest of the last run first; each has folders and ports
# of its own. --show: all that a program prints, instead of what failed.
# A program that exits non-zero without a "not ok" line (a crash, a sanitizer's report) fails once.
# Ends with the one line that says it all: "N passed, N failed".
set -u
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
beside= beside_pid= lanes=1 show=
declare -A lane_program=() lane_start=() # by process: scripts that run
while [[ ${1:-} == --* ]]; do
    case $1 in
    --beside) beside=$2; shift ;;
    --lanes) lanes=$2; shift ;;
    --show) show=yes ;;
    esac
    shift
done
cleanup() {
    for pid in $beside_pid "${!lane_program[@]}"; do kill -- "-$pid" 2>/dev/null; done
    rm -rf "$logs"
}
trap cleanup EXIT

start_one() { # program, log; its exit code
    case $1 in
    *.sh) timeout "${TEST_TIMEOUT:-1200}" bash "$1" >"$2" 2>&1 ;;
    *) timeout "${TEST_TIMEOUT:-900}" "$1" >"$2" 2>&1 ;;
    esac
}

count() { # program, log, exit code, seconds
    local program=$1 log=$2 code=$3 p f s
    p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
    if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; echo "not ok $program: exit code $code" >>"$log"; fi
    if [ "$code" -eq 0 ] && [ $((p + f + s)) -eq 0 ]; then f=1; echo "not ok $program: printed no result" >>"$log"; fi
    printf '%-64s %4d ok %3d failed %3d s\n' "${program#build/}" "$p" "$f" "$4"
    if [ -n "$show" ]; then cat "$log"; else failures_of "$log" "$f"; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
failures_of() { # log, how many
    grep '^skip ' "$1"
    # What failed first of all: a script that shows its servers' logs leaves no room for it in the last lines.
    [ "$2" -eq 0 ] || { sed -n 's/^not ok /# failed: /p' "$1" | head -n 20; grep -v '^ok ' "$1" | tail -n 60; }
}

start_beside() {
    beside_start=$SECONDS
    set -m # a process group of its own, so that our end is its end
    nice -n 19 timeout "${TEST_TIMEOUT:-2400}" bash "$beside" >"$logs/beside" 2>&1 &
    beside_pid=$!
    set +m
}

end_one() { # waits for one of the lanes
    local pid code
    wait -n -p pid "${!lane_program[@]}"
    code=$?
    count "${lane_program[$pid]}" "$logs/$pid" $code $((SECONDS - lane_start[$pid]))
    unset "lane_program[$pid]"
}
start_lane() { # program
    while [ ${#lane_program[@]} -ge "$lanes" ]; do end_one; done
    set -m
    (start_one "$1" "$logs/$BASHPID") &
    set +m
    lane_program[$!]=$1
    lane_start[$!]=$SECONDS
}

[ -z "$beside" ] || start_beside
for program in "$@"; do start_lane "$program"; done
while [ ${#lane_program[@]} -gt 0 ]; do end_one; done
if [ -n "$beside" ]; then
    wait "$beside_pid"
    code=$?
    beside_pid=
    count "$beside" "$logs/beside" $code $((SECONDS - beside_start))
fi
[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
