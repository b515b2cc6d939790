#!/usr/bin/env bash
# Strangers at every port of a gang's pods: the hub's, and the tunnel's for launchers and the check of connections. Three pods that
# are network namespaces, and a machine with 40 addresses. Two of the pods are flooded on all of their ports before the third
# comes, by connections of five kinds without end (flood.py), and by half-open ones of addresses that no machine has: the
# gang starts all the same, few connections stay, the agents stay small, and the job's end is right.
# (The coordinator: test_strangers; the controller's ports and a hub's pages: test_hub.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_floods: Open MPI is not here"; exit 0; }
machines_begin windlass-shim
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
addresses=() unknown=()
for i in $(seq 101 140); do
    ip -n "$net_prefix-4" addr add "10.77.0.$i/24" dev eth0
    addresses+=("10.77.0.$i")
done
for i in $(seq 241 250); do # (each has a neighbour's entry: the kernel believes that they are there)
    for machine in 1 2; do ip -n "$net_prefix-$machine" neigh add "10.77.0.$i" lladdr "02:00:00:00:00:$((i - 200))" dev eth0; done
    unknown+=("10.77.0.$i")
done
# shellcheck disable=SC2016 # the ranks' shell
spec=$(jq -cn '{workers: 3, minWorkers: 3, slotsPerWorker: 1, gpus: 0, launcher: "MPI", restart: {maxRestarts: 0, backoffSeconds: 0, waitSeconds: 600,
    hangSeconds: 0}, command: ["mpirun", "-np", "3", "bash", "-c", ">$out/rank.$BASHPID; until [ -e $out/end ]; do sleep 0.05; done"]}')
pod() { # INDEX, on machine INDEX + 1
    local own=(WINDLASS_HUB=10.77.0.1:8443 WINDLASS_HUB_SHA256="$sha256")
    [ "$1" -gt 0 ] || own=(WINDLASS_BIND=10.77.0.1:8443 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")"
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u)
    # shellcheck disable=SC2016 # the inner shell's
    nsenter --net="/run/netns/$net_prefix-$(($1 + 1))" unshare --uts --ipc -- sh -c 'hostname "$0" && exec "$@"' "machine-$(($1 + 1))" env -i TMPDIR="$work" PATH="$PATH" out="$work" \
        WINDLASS_JOB=floods WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$spec" WINDLASS_TOKEN="$token" WINDLASS_WORKER="floods-$1-1" \
        WINDLASS_INDEX="$1" WINDLASS_ATTEMPT=1 POD_IP="10.77.0.$(($1 + 1))" WINDLASS_FOLDER="$work/pod-$1" \
        WINDLASS_TERMINATION_LOG="$work/words-$1" "${own[@]}" "$build/windlass-shim" launch >"$work/pod-$1.out" 2>"$work/pod-$1.log" &
    members[$1]=$!
    pids+=($!)
}
members=()
# What other machines reach of a pod: "10.77.0.1:8443".
ports() { net_run "$1" ss -Hltn | awk '$4 ~ /^10\.77\./ { print $4 }' | sort; }
both_listen() { [ "$(ports 1 | wc -l) $(ports 2 | wc -l)" = "2 1" ]; }
# Of the stranger's connections to a port, those that an agent has accepted, by address.
strangers_at() { net_run "${1:8:1}" ss -Hntp state established "( sport = :${1##*:} )" | grep windlass-shim | grep -oE '10\.77\.0\.1[0-9][0-9]:' | sort | uniq -c; }
# At most 64 at each port, 8 of an address; a look may come between an accepted connection and the one closed for it.
few_stay() {
    local port again
    for port in "${doors[@]}"; do
        for again in 1 2 3 4 5; do
            strangers_at "$port" >"$work/open"
            awk '{ all += $1; if ($1 > 8) bad = 1 } END { exit bad || all > 64 }' "$work/open" && break
            [ $again != 5 ] || { echo "# $port"; sed 's/^/# /' "$work/open"; return 1; }
            nap 0.1
        done
    done
}
few_stay_long() { for _ in 1 2 3; do few_stay || return 1; nap 0.3; done; }
full() { [ "$(strangers_at 10.77.0.1:8443 | awk '{ all += $1 } END { print all + 0 }')" -ge 40 ]; }
half_open() { [ "$(net_run "$1" ss -Hnt state syn-recv | wc -l)" -ge 20 ]; }
small() { # each agent: less than 64 MiB at most
    local pid high
    for pid in "${members[@]}"; do
        high=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status")
        [ "$high" -lt 65536 ] || { echo "# $high KiB"; return 1; }
    done
}
all_run() { [ "$(find "$work" -maxdepth 1 -name 'rank.*' | wc -l)" = 3 ]; }
answers() { [ "$(net_run 3 curl -sk -o /dev/null -w '%{http_code}' --max-time 10 https://10.77.0.1:8443/healthz)" = 200 ]; }
show() { [ $failures = 0 ] || tail -n 8 "$work"/pod-*.log "$work/flood.log" | sed 's/^/# /'; }

pod 0
pod 1
check "two pods listen" until_true 60 both_listen
mapfile -t doors < <(ports 1; ports 2)
targets=$(IFS=,; echo "${doors[*]}")
mkfifo "$work/hold"
exec 9<>"$work/hold"
net_run 4 python3 tests/e2e/security/flood.py "$targets" 1000000000 "${addresses[@]}" <"$work/hold" >"$work/flood.log" 2>&1 &
pids+=($!)
net_run 4 python3 tests/e2e/security/half_open.py "$targets" 300 "${unknown[@]}" >>"$work/flood.log" 2>&1
check "half-open connections wait at the first" until_true 60 half_open 1
check "and at the second" until_true 60 half_open 2
check "the hub has as many strangers as it lets in" until_true 60 full
pod 2
check "the gang starts all the same" until_true 60 all_run
show
check "few of them stay at each of the ports ($targets)" few_stay_long
check "the hub answers a probe" until_true 60 answers
check "the agents stay small" small
touch "$work/end"
codes=
for p in "${members[@]}"; do
    until_true 60 eval "! kill -0 $p 2>/dev/null"
    wait "$p"
    codes="$codes $?"
done
exec 9>&-
check "the gang ends well (codes$codes)" [ "$codes" = " 0 0 0" ]
check "with its ranks' proof" [ "$(jq -r '"\(.state) \(.proof.by) \(.proof.count)"' "$work/words-0")" = "Succeeded Ranks 3" ]
show
exit $((failures > 0))
