#!/usr/bin/env bash
# Sums between three machines (network namespaces, tests/netns.bash) that mpirun starts through a program in ssh's
# place: over the network, over a link that is cut for a while, and which ranks remain when it is cut permanently.
#   SOAK_ROUNDS: number of cuts of each kind (divided by 200)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/netns.bash
net_possible || { echo "skip sums between machines: network namespaces want root"; exit 0; }
build=${BUILD:-build}
built "$build/windlass-trainer" || { echo "not ok test_comm_network: cannot be built"; exit 1; }
work=$(mktemp -d)
mpirun=
trap 'net_down; [ -z "$mpirun" ] || kill -9 $mpirun 2>/dev/null; rm -rf "$work"' EXIT
net_up 3 none || { echo "not ok test_comm_network: no network namespaces"; exit 1; }
net_rsh "$work/rsh"
for i in 1 2 3; do echo "10.77.0.$i slots=1"; done >"$work/hosts"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work OMPI_MCA_plm_rsh_agent=$work/rsh
export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_orte_leave_session_attached=1 OMPI_MCA_hwloc_base_binding_policy=none
mpi() { net_run 1 timeout -k 5 300 mpirun --hostfile "$work/hosts" -np 3 "$(realpath "$build/windlass-trainer")" comm check "$@"; }

# ranks: process ids of ranks that have their reducer. left: of all ranks.
left() {
    local i pid
    for i in 1 2 3; do
        for pid in $(ip netns pids "$net_prefix-$i"); do
            [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != windlass-traine ] || echo "$pid"
        done
    done
}
ranks() { for pid in $(left); do ! grep -qx reducer /proc/"$pid"/task/*/comm 2>/dev/null || echo "$pid"; done; }
# begin NAME OPTIONS...: starts three ranks, waits until all work.
begin() {
    local name=$1 i
    shift
    mpi "$@" >"$work/$name" 2>&1 &
    mpirun=$!
    for i in $(seq 600); do
        [ "$(ranks | wc -l)" -lt 3 ] || return 0
        kill -0 $mpirun 2>/dev/null || return 1
        nap 0.1
    done
    return 1
}
gone() { # SECONDS
    local i
    for i in $(seq $(($1 * 10))); do
        [ -n "$(left)" ] || return 0
        nap 0.1
    done
    return 1
}
received() { net_run "$1" cat /proc/net/dev | awk '$1 == "eth0:" { print $2 }'; }
over_the_wire() {
    mpi --megabytes 5 --rounds 3 >"$work/wire" 2>&1 && grep -q '^sums are right, and have the same bits' "$work/wire" &&
        grep -q '^3 ranks on machine-1 (1), machine-2 (1), machine-3 (1); Open MPI v' "$work/wire"
}
check "three machines compute a sum" over_the_wire
for round in $(seq $((1 + ${SOAK_ROUNDS:-0} / 200))); do
    cut=$((2 + (round - 1) % 4)) machine=$((1 + round % 3))
    check "three machines at work" begin cut --megabytes 2 --rounds 200 --timeout 60
    net_cut $machine
    came=$(received $machine)
    sleep $cut
    check "all of them wait: machine $machine received nothing meanwhile" [ "$(left | wc -l) $(received $machine)" = "3 $came" ]
    net_mend $machine
    wait $mpirun
    check "cut off for $cut s: waited out" [ $? -eq 0 ]
    check "all sums are right" grep -q '^sums are right, and have the same bits' "$work/cut"

    check "three machines at work again" begin gone --megabytes 2 --rounds 100000 --timeout 3
    net_cut $machine
    check "machine $machine is cut off for good: no rank is left on any machine" gone 60
    check "the message says what happened" grep -qE 'rank [0-2] of 3 on machine-[1-3]: .*: nothing from the other ranks for 3.0 s: one of them is dead, stopped or cut off$' "$work/gone"
    # mpirun itself waits for the unreachable machine: its caller must end it.
    net_mend $machine
    kill -9 $mpirun 2>/dev/null
    for i in 1 2 3; do for pid in $(ip netns pids "$net_prefix-$i"); do kill -9 "$pid" 2>/dev/null; done; done
    wait $mpirun 2>/dev/null
done
[ $failures -eq 0 ] || for log in wire cut gone; do sed "s/^/# $log: /" "$work/$log" | tail -15; done
exit $((failures > 0))
