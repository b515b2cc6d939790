#!/usr/bin/env bash
# No one without the job's token reaches mpirun and its daemons: three pods that are network namespaces and a fourth
# machine with a stranger on it. What listens in the pods; the messages that end mpirun (HALT_VM) and that run a program
# (LAUNCH_JOB), sent from there to every port; 300 silent connections while a gang starts; the gang goes on, and its end
# is right. Open MPI and MPICH.
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
    for i in 2 1 0; do pod $i; done
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
# The agent listens for the hub's members, for other pods' launchers and for the check of connections; nothing else does.
only_agents() {
    listeners >"$out/heard"
    grep -q "^1 127\.0\.0\.1:[0-9]* .*\"$1\"" "$out/heard" && ! grep -vE ' (127\.0\.0\.1|\[::1\]|\[::ffff:127\.0\.0\.1\]):[0-9]+ ' "$out/heard" | grep -v ' (("windlass-shim",[^()]*))$'
}
# From the fourth machine to each port of each pod, also those on loopback: to end mpirun, or to run a COMMAND.
attacks() { # [COMMAND]
    local machine port namespace sent=()
    namespace=$(sed -n 's/^PMIX_NAMESPACE=\([0-9]*\)$/\1/p' "$out"/env.* | head -1) # Open MPI 5 has names
    listeners >"$out/heard"
    while read -r machine port _; do
        net_run 4 timeout 20 python3 tests/e2e/train/halt_vm.py "10.77.0.$machine" "${port##*:}" "${namespace:-1}" "$@" 2>"$out/said-$machine-${port##*:}" </dev/null &
        sent+=($!)
    done <"$out/heard"
    wait "${sent[@]}"
    while read -r machine port _; do
        case $port in
        10.77.*) ;; # an agent, which closes connections without the token
        *) grep -q 'Connection refused' "$out/said-$machine-${port##*:}" || { echo "# $machine $port is not closed"; return 1; } ;;
        esac
    done <"$out/heard"
    sleep 0.5
    kill -0 "${pids[@]}" && all_run && [ "$(wc -l < <(pgrep -f "$out/end"))" -ge 6 ]
}
runs_nothing() { attacks "touch $out/ran" && [ ! -e "$out/ran" ]; }
# Neither the right protocol without the key, nor with another one.
no_token() {
    local port
    while read -r _ port _; do
        case $port in 10.77.0.1:8443 | 127.* | \[*) continue ;; esac
        for key in '' "-psk_identity worker -psk $(printf '%064d' 1)" "-psk_identity worker_0 -psk $(printf '%s' "$token" | sha256sum | cut -c1-64)"; do
            # shellcheck disable=SC2086 # its words
            net_run 4 timeout 5 openssl s_client -tls1_3 -connect "$port" ${key//worker_0/worker 0} </dev/null >"$out/said" 2>&1
            ! grep -q '^New, TLSv1.3, Cipher is TLS' "$out/said" || { echo "# $port lets $key in"; return 1; }
        done
    done < <(grep '^1 .*"windlass-shim"' "$out/heard")
}
# A rank's environment is the user's: nothing of what its launcher has.
clean() { ! grep -qE '^(LD_PRELOAD|WINDLASS_TUNNEL)=' "$out"/env.*; }
crowd() { net_run 4 python3 -c '
import socket, sys, time
held = []
end = time.time() + 60
while time.time() < end:
    for port in range(8440, 8446):
        try:
            held.append(socket.create_connection(("10.77.0.1", port), 1))
        except OSError:
            pass
    held = held[-300:]
    time.sleep(0.005)
'; }

check "Open MPI: six ranks run in three pods" begin open mpirun -np 6 bash -c "$rank"
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
check "a crowd of silent strangers: the next gang starts all the same" begin crowd mpirun -np 6 bash -c "$rank"
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
