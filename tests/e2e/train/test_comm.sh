#!/usr/bin/env bash
# Sums between processes, started by the real mpirun: the suite of tests/conformance/test_comm.c as 1, 2 and 4 ranks,
# `windlass-trainer comm check`, and ranks that die, stop or were started differently. There are more ranks than
# processors on purpose: a waiting rank must let others run.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=${BUILD:-build}
built "$build/windlass-trainer" "$build/tests/conformance/test_comm" || { echo "not ok test_comm: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
# Tests may run as root; Open MPI requires two variables for that. Its files go to our folder.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_SIZE
mpi() { timeout -k 5 $((120 + ${SOAK_ROUNDS:-0} * 5)) mpirun --oversubscribe --bind-to none "$@"; }
trainer=$build/windlass-trainer

for ranks in 1 2 4; do
    mpi -np $ranks "$build/tests/conformance/test_comm" >"$work/suite" 2>&1
    code=$?
    grep -E '^(ok|not ok|#) ' "$work/suite"
    check "the suite on $ranks ranks" [ $code -eq 0 ]
    check "the suite on $ranks ranks: all of it, over MPI" [ "$(grep -c "^ok .*, mpi of $ranks\$" "$work/suite")" -eq 8 ]
    [ $code -eq 0 ] || { sed 's/^/# /' "$work/suite" | tail -40; failures=$((failures + 1)); }
done

# right RANKS: the output of a successful `comm check`.
right() {
    mpi -np "$1" "$trainer" comm check --megabytes 5 --rounds 2 --fusion 2 >"$work/check" 2>&1 &&
        grep -q "^$1 ranks on $(hostname) ($1); Open MPI v" "$work/check" &&
        grep -qE '^sums are right, and have the same bits on every rank \(CRC-32C [0-9a-f]{8}\)$' "$work/check" &&
        grep -q '^5 MB in 3 buffers' "$work/check" && tail -1 "$work/check" | grep -qE '^median [0-9.]+ ms$'
}
for ranks in 2 3 5; do check "comm check, $ranks ranks" right $ranks; done
# A restarted training must take the same path.
crc() { grep -o 'CRC-32C [0-9a-f]*' "$work/check"; }
again() { local first; first=$(crc) && right 5 && [ "$(crc)" = "$first" ]; }
check "another run has the same bits" again
# In a soak: all allreduce algorithms of Open MPI (coll tuned), and its other modules.
ways=()
[ -z "${SOAK_ROUNDS:-}" ] || ways=("coll_tuned_allreduce_algorithm "{1..6} "coll_han_priority 100" "coll_sm_priority 100" "coll ^tuned")
by_way() { # WAY RANKS
    # shellcheck disable=SC2086 # name and value
    mpi --mca coll_tuned_use_dynamic_rules 1 --mca $1 -np "$2" "$trainer" comm check --megabytes 3 --rounds 1 >"$work/check" 2>&1 &&
        grep -q '^sums are right' "$work/check"
}
for way in "${ways[@]}"; do
    for ranks in 3 4 6; do check "$way, $ranks ranks" by_way "$way" $ranks; done
done
alone() {
    "$trainer" comm check --megabytes 5 --rounds 1 >"$work/check" 2>&1 && grep -q '^1 rank on .*; one process$' "$work/check"
}
check "comm check, without mpirun: one process" alone

mpi -np 2 "$trainer" comm check --megabytes 1 --rounds 1 : -np 1 "$trainer" comm check --megabytes 1 --rounds 5 \
    >"$work/differ" 2>&1
check "ranks that were started differently: exit 2" [ $? -eq 2 ]
check "the rank that differs is named, once" [ "$(grep -c 'rank 0 of 3 on .*: --rounds differs: "5" on rank 2, "1" on rank 0; all ranks have to be started alike$' "$work/differ")" -eq 1 ]

# begin NAME OPTIONS...: starts four ranks with much work, waits until each has its reducer; sets $mpirun, and $pids by
# rank.
begin() {
    local name=$1 i pid
    shift
    mpirun --oversubscribe --bind-to none -np 4 "$trainer" comm check --megabytes 20 --rounds 100000 "$@" >"$work/$name" 2>&1 &
    mpirun=$!
    for i in $(seq 600); do
        pids=()
        for pid in $(pgrep -P $mpirun); do
            grep -qx reducer /proc/"$pid"/task/*/comm 2>/dev/null || continue
            i=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
            [ -z "$i" ] || pids[i]=$pid
        done
        [ ${#pids[@]} -lt 4 ] || break
        nap 0.1
    done
    [ ${#pids[@]} -eq 4 ]
}
# ended SECONDS: mpirun has ended by then, with an error, and so have the ranks.
ended() {
    local i pid code
    for i in $(seq $(($1 * 10))); do
        kill -0 "$mpirun" 2>/dev/null || break
        nap 0.1
    done
    ! kill -0 "$mpirun" 2>/dev/null || return 1
    wait "$mpirun"
    code=$?
    [ $code -ne 0 ] || return 1
    for i in $(seq 100); do
        for pid in "${pids[@]}"; do ! grep -q windlass "/proc/$pid/cmdline" 2>/dev/null || { nap 0.1; continue 2; }; done
        return 0
    done
    return 1
}
check "four ranks at work" begin killed
kill -9 "${pids[2]}"
check "a killed rank ends all ranks, with an error" ended 30
check "mpirun says which" grep -q 'process rank 2 with PID .* exited on signal 9' "$work/killed"

check "four ranks at work again" begin stopped --timeout 3
kill -STOP "${pids[1]}"
check "a suspended rank ends all ranks, with an error" ended 60
check "the message says what happened" grep -qE 'rank [023] of 4 on .*: (bucket [0-9]+ of [0-9]+|between steps): nothing from the other ranks for 3.0 s: one of them is dead, stopped or cut off$' "$work/stopped"
[ $failures -eq 0 ] || for log in killed stopped differ check; do sed "s/^/# $log: /" "$work/$log" | tail -15; done

# refused CODE TEXT COMMAND...
refused() {
    local code=$1 text=$2
    shift 2
    "$@" >"$work/refused" 2>&1
    [ $? -eq "$code" ] && [ "$(wc -l <"$work/refused")" -eq 1 ] && grep -qF -- "$text" "$work/refused"
}
check "launch without a job names what is missing" refused 2 'windlass-trainer launch: ' "$trainer" launch
check "an unknown comm is refused" refused 2 'comm "x" is unknown' "$trainer" comm check --comm x
check "0 rounds are refused" refused 2 '--rounds 0: expected 1 to 100000' "$trainer" comm check --rounds 0
check "the launcher of another MPI is detected" env PMI_SIZE=4 bash -c "$(declare -f refused); work=$work
    refused 2 'started as one of 4 ranks by a launcher that Open MPI v' $trainer comm check"

# No other program is linked with MPI or loads it.
needs_mpi() { readelf -d "$1" | grep -q 'NEEDED.*libmpi' || strings -a "$1" | grep -qE 'libmpi\.so|MPI_Init'; }
check "windlass-trainer is linked with MPI" needs_mpi "$trainer"
for program in windlass windlass-agent windlass-shim; do
    [ -e "$build/$program" ] || { [ "$build" != build ] && [ $program = windlass-shim ] && continue; built "$build/$program"; }
    check "$program is not" eval "[ -s $build/$program ] && ! needs_mpi $build/$program"
done
exit $((failures > 0))
