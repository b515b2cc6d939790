#!/usr/bin/env bash
# No one without the job's token reaches mpirun and its daemons: three pods that are network namespaces and a fourth
# machine with a stranger on it. What listens in the pods; the messages that end mpirun (HALT_VM) and that run a program
# (LAUNCH_JOB), sent from there to every port; 300 silent connections while a gang starts; the gang goes on, and its end
# is right. Open MPI and MPICH. Before that the same messages, sent in the same way, end an mpirun that listens everywhere
# and run a program by it; and the right key opens what is closed without it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_tunnel: Open MPI is not here"; exit 0; }
machines_begin windlass-shim
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')

# pod INDEX: of the job $job, on machine INDEX + 1
pod() {
    local own=(WINDLASS_HUB=10.77.0.1:8443 WINDLASS_HUB_SHA256="$sha256")
    [ "$1" -gt 0 ] || own=(WINDLASS_BIND=10.77.0.1:8443 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")"
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u)
    # shellcheck disable=SC2016 # the inner shell's
    nsenter --net="/run/netns/$net_prefix-$(($1 + 1))" unshare --uts --ipc -- sh -c 'hostname "$0" && exec "$@"' "machine-$(($1 + 1))" env -i TMPDIR="$work" PATH="$PATH" out="$out" \
        WINDLASS_JOB="$job" WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$spec" WINDLASS_TOKEN="$token" WINDLASS_WORKER="$job-$1-1" \
        WINDLASS_INDEX="$1" WINDLASS_ATTEMPT=1 POD_IP="10.77.0.$(($1 + 1))" WINDLASS_FOLDER="$out/pod-$1" \
        WINDLASS_TERMINATION_LOG="$out/words-$1" "${own[@]}" "$build/windlass-shim" launch >"$out/pod-$1.out" 2>"$out/pod-$1.log" &
    pids[$1]=$!
}
# begin NAME COMMAND...: starts a gang whose ranks wait for the file $out/end
begin() {
    job=$1 out=$work/$1
    mkdir -p "$out"
    spec="{\"workers\":3,\"minWorkers\":3,\"slotsPerWorker\":2,\"gpus\":0,\"launcher\":\"MPI\",\"restart\":{\"maxRestarts\":0,\"backoffSeconds\":0,\"waitSeconds\":60,\"hangSeconds\":0},\"command\":$(jq -cn '$ARGS.positional' --args -- "${@:2}")}"
    pod 0
    [ -z "${meanwhile:-}" ] || "$meanwhile" || return 1
    for i in 2 1; do pod $i; done
    until_true 60 all_run
}
# shellcheck disable=SC2016 # the ranks' shell
rank='env >$out/env.$BASHPID; until [ -e $out/end ]; do sleep 0.05; done'
all_run() { [ "$(find "$out" -name 'env.*' | wc -l)" = 6 ]; }
# Lets it end: by itself, with the ranks' proof.
ends_well() { # PROOF
    local codes=
    touch "$out/end"
    for i in 0 1 2; do
        until_true 60 eval "! kill -0 ${pids[$i]} 2>/dev/null"
        wait "${pids[$i]}"
        codes="$codes $?"
    done
    pids=()
    [ "$codes" = " 0 0 0" ] && [ "$(jq -r '"\(.state) \(.proof.by) \(.proof.count)"' "$out/words-0")" = "Succeeded $1" ]
}
show() {
    [ "$failures" -eq "${shown:-0}" ] && return
    shown=$failures
    tail -n 12 "$out"/pod-*.log "$out/heard" 2>/dev/null | sed 's/^/# /'
}
# What listens in the pods: "MACHINE ADDRESS:PORT PROGRAMS" (a program hands on what it does not close).
listeners() { for i in 1 2 3; do net_run "$i" ss -Hltnp | sed -E "s/^LISTEN +[0-9]+ +[0-9]+ +([^ ]+) .*users:/$i \1 /; s/ +$//"; done; }
# The agent listens for the hub's members and for other pods; nothing else does.
only_agents() {
    listeners >"$out/heard"
    grep -q "^1 127\.0\.0\.1:[0-9]* .*\"$1\"" "$out/heard" && ! grep -vE ' (127\.0\.0\.1|\[::1\]|\[::ffff:127\.0\.0\.1\]):[0-9]+ ' "$out/heard" | grep -v ' (("windlass-shim",[^()]*))$'
}
# From the fourth machine to each port of each pod, also those on loopback: to end mpirun, or to run a COMMAND.
strike() { # [COMMAND]
    local machine port namespace sent=()
    namespace=$(sed -n 's/^PMIX_NAMESPACE=\([0-9]*\)$/\1/p' "$out"/env.* | head -1) # Open MPI 5 has names
    rm -f "$out"/said-*
    listeners >"$out/heard"
    while read -r machine port _; do
        net_run 4 timeout 20 python3 tests/e2e/train/halt_vm.py "10.77.0.$machine" "${port##*:}" "${namespace:-1}" "$@" 2>"$out/said-$machine-${port##*:}" </dev/null &
        sent+=($!)
    done <"$out/heard"
    wait "${sent[@]}"
}
attacks() { # [COMMAND]
    local machine port
    strike "$@"
    [ -s "$out/heard" ] || return 1
    while read -r machine port _; do
        case $port in
        10.77.*) ;; # an agent, which closes connections without the token
        *) grep -q 'Connection refused' "$out/said-$machine-${port##*:}" || { echo "# $machine $port is not closed"; return 1; } ;;
        esac
    done <"$out/heard"
    sleep 0.5
    kill -0 "${pids[@]}" && all_run && [ "$(wc -l < <(pgrep -f "$out/end"))" -ge 6 ]
}
# An mpirun on the first machine without a tunnel, and something that listens on the two others: none of it is refused.
begin_open() {
    local machine
    out=$work/unguarded
    mkdir -p "$out"
    for machine in 2 3; do
        net_run "$machine" timeout 300 python3 -c 'import os, socket, sys, time
held = socket.create_server(("", 7000))
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)' "$out/end" &
        pids+=($!)
    done
    net_run 1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR="$work" out="$out" \
        mpirun --oversubscribe -np 2 bash -c "$rank" >"$out/log" 2>&1 </dev/null &
    unguarded=$!
    open_begun() { [ "$(find "$out" -name 'env.*' | wc -l)" = 2 ] && [ "$(listeners | grep -c ':7000 ')" = 2 ]; }
    until_true 60 open_begun
}
is_open() { # MACHINE PORTS: none is refused
    local port
    for port in $2; do
        [ -e "$out/said-$1-$port" ] && ! grep -q 'Connection refused' "$out/said-$1-$port" || { echo "# $1 $port refuses"; return 1; }
    done
    [ -n "$2" ]
}
wide_ports() { sed -nE 's/^1 (0\.0\.0\.0|\*|\[::\]):([0-9]+) .*"mpirun".*/\2/p' "$out/heard"; }
program_ran() { [ -e "$out/ran" ]; }
mpirun_ended() { ! kill -0 "$unguarded"; }
runs_nothing() { attacks "touch $out/ran" && [ ! -e "$out/ran" ]; }
# Neither the right protocol without the key, nor with another one; the key that is made of the token opens it.
shakes_hands() { # PORT [OPTION...]
    net_run 4 timeout "${patience:-5}" openssl s_client -tls1_3 -connect "$1" "${@:2}" </dev/null >"$out/said" 2>&1
    grep -qE '^(New|Reused), TLSv1.3, Cipher is TLS' "$out/said" # (reused: with a key that both knew)
}
no_token() {
    local port right opened=0
    right=$(printf 'windlass tunnel 1' | openssl dgst -sha256 -hmac "$token" | sed 's/.*= *//')
    while read -r _ port _; do
        case $port in 10.77.0.1:8443 | 127.* | \[*) continue ;; esac
        ! shakes_hands "$port" || { echo "# $port needs no key"; return 1; }
        ! shakes_hands "$port" -psk_identity worker -psk "$(printf '%064d' 1)" || { echo "# $port takes any key"; return 1; }
        ! shakes_hands "$port" -psk_identity 'worker 0' -psk "$(printf '%s' "$token" | sha256sum | cut -c1-64)" || { echo "# $port takes another key"; return 1; }
        patience=60 shakes_hands "$port" -psk_identity 'worker 0' -psk "$right" || { echo "# $port does not take the right key"; return 1; }
        opened=$((opened + 1))
    done < <(grep '^1 .*"windlass-shim"' "$out/heard")
    [ $opened = 1 ] || { echo "# $opened ports take the right key"; return 1; }
}
# A rank's environment is the user's: nothing of what its launcher has.
clean() { ! grep -qE '^(LD_PRELOAD|WINDLASS_TUNNEL)=' "$out"/env.*; }
crowd() { net_run 4 python3 -c '
import socket, sys, time
held = []
end = time.time() + 300
while time.time() < end:
    try:
        held.append(socket.create_connection(("10.77.0.1", 8443), 1))
    except OSError:
        pass
    if len(held) == 300:
        open(sys.argv[1], "w").close()
    held = held[-300:]
    time.sleep(0.005)
' "$work/crowded"; }
is_crowded() { [ -e "$work/crowded" ]; }
crowd_is_there() { until_true 60 is_crowded; }

check "an mpirun without a tunnel starts" begin_open
strike "touch $out/ran"
check "and listens everywhere; a stranger's messages arrive there" is_open 1 "$(wide_ports)"
check "also on the second machine" is_open 2 7000
check "and on the third" is_open 3 7000
check "the message that runs a program runs it" until_true 60 program_ran
strike
check "the one that ends mpirun ends it" until_true 60 mpirun_ended
[ "$failures" = 0 ] || sed 's/^/# /' "$out/log"
touch "$out/end"
wait "$unguarded" "${pids[@]}"
pids=()

# (There is room for another program, too: --oversubscribe.)
check "Open MPI: six ranks run in three pods" begin open mpirun --oversubscribe -np 6 bash -c "$rank"
show
check "its mpirun and daemons listen on loopback only" only_agents mpirun
check "a stranger's message that ends mpirun is refused at every port" attacks
check "and the one that runs a program (LAUNCH_JOB)" runs_nothing
check "TLS without the key, or with another one, is refused" no_token
check "ranks get no variable of their launcher" clean
check "the job goes on to its end" ends_well "Ranks 6"
show
crowd &
crowd=$!
meanwhile=crowd_is_there
check "300 silent strangers at the hub: the next gang starts all the same" begin crowd mpirun -np 6 bash -c "$rank"
meanwhile=
check "they were there" is_crowded
check "and ends well" ends_well "Ranks 6"
show
kill "$crowd"
if command -v mpiexec.hydra >/dev/null; then
    check "MPICH: six ranks run in three pods" begin mpich mpiexec.hydra -np 6 bash -c "$rank"
    show
    check "its mpiexec and proxies listen on loopback only" only_agents mpiexec.hydra
    check "a stranger reaches none of their ports" attacks
    check "the job goes on to its end" ends_well "Proxies 3"
    show
else
    echo "skip MPICH: it is not here"
fi
# Its daemons need the loader of Debian 13, as mpirun does.
if five=$(tests/e2e/train/openmpi5.sh ${SOAK_ROUNDS:-there}); then
    sed 's#/usr/bin/prterun "#/usr/bin/prted "#' "$five/mpirun" >"$work/prted"
    chmod +x "$work/prted"
    check "Open MPI 5: six ranks run in three pods" begin five "$five/mpirun" --prtemca prte_launch_agent "$work/prted" -np 6 bash -c "$rank"
    show
    check "its prterun and daemons listen on loopback only" only_agents ld-linux-x86-64
    check "a stranger reaches none of their ports" attacks
    check "ranks get no variable of their launcher" clean
    check "the job goes on to its end" ends_well "Ranks 6"
    show
else
    echo "skip Open MPI 5: it is not here: tests/e2e/train/openmpi5.sh fetches it"
fi
exit $((failures > 0))
