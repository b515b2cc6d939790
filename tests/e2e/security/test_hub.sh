#!/usr/bin/env bash
# Strangers at a gang's hub and at the controller's ports: two pods that are network namespaces, the controller in a third, and a
# machine with 40 addresses. Thousands of connections of five kinds, readers that never read, and all that a stranger
# may say (hub_attacks.py): no page but /healthz, no WebSocket without the job's token. The gang goes on, a member that
# comes meanwhile is let in, and its end is right. SOAK_ROUNDS (2): thousands of connections.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
machines_begin windlass windlass-shim
addresses=()
for i in $(seq 101 140); do
    ip -n "$net_prefix-4" addr add "10.77.0.$i/24" dev eth0
    addresses+=("10.77.0.$i")
done
count=$((${SOAK_ROUNDS:-2} * 1000))
# shellcheck disable=SC2016 # the member's shell
spec=$(jq -cn --arg work "$work" '{workers: 2, minWorkers: 2, slotsPerWorker: 1, gpus: 0, launcher: "None", restart: {maxRestarts: 0, backoffSeconds: 0,
    waitSeconds: 600, hangSeconds: 0}, command: ["sh", "-c", "touch \($work)/runs-$WINDLASS_RANK.$$; until [ -e \($work)/end ]; do sleep 0.05; done"]}')
member() { # INDEX, on machine INDEX + 1
    local own=(WINDLASS_HUB=10.77.0.1:8443 WINDLASS_HUB_SHA256="$sha256")
    [ "$1" -gt 0 ] || own=(WINDLASS_BIND=10.77.0.1:8443 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")"
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u WINDLASS_READ_TOKEN=00ff)
    nsenter --net="/run/netns/$net_prefix-$(($1 + 1))" -- env -i TMPDIR="$work" PATH="$PATH" WINDLASS_JOB=g WINDLASS_RUN=0123456789abcdef \
        WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="g-$1-1" WINDLASS_INDEX="$1" WINDLASS_ATTEMPT=1 POD_IP="10.77.0.$(($1 + 1))" \
        WINDLASS_FOLDER="$work/pod-$1" WINDLASS_TERMINATION_LOG="$work/words-$1" "${own[@]}" "$build/windlass-shim" launch >"$work/member-$1.log" 2>&1 &
    members[$1]=$!
    pids+=($!)
}
cat >"$work/conf" <<'C'
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://10.77.0.1:6443"}}]
users: [{name: none, user: {token: "none"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
C
nsenter --net="/run/netns/$net_prefix-3" -- "$build/windlass" controller --kubeconfig="$work/conf" --no-leader-election --metrics-listen='[::]:8444' >"$work/controller.log" 2>&1 &
pids+=($!)
members=()
member 0
hub=https://10.77.0.1:8443 controller=http://10.77.0.3:8080 metrics=https://10.77.0.3:8444
answers() { [ "$(net_run 3 curl -sk -o /dev/null -w '%{http_code}' --max-time 10 "$1")" = "${2:-200}" ]; }
check "the hub answers" until_true 60 answers $hub/healthz
check "the controller answers" until_true 60 answers $controller/healthz
check "its metrics want a token" until_true 60 answers $metrics/metrics 401
[ $failures = 0 ] || { tail -n 20 "$work"/*.log | sed 's/^/# /'; exit 1; }

##### what strangers may say #####################################################################
net_run 4 python3 tests/e2e/security/hub_attacks.py 10.77.0.1 8443 10.77.0.101 >"$work/at-hub" 2>&1
net_run 4 python3 tests/e2e/security/hub_attacks.py 10.77.0.3 8080 10.77.0.101 >"$work/at-controller" 2>&1
all_said() { [ "$(grep -c ': ' "$1")" = 23 ] || { sed 's/^/# /' "$1"; return 1; }; }
check "each is tried at the hub" all_said "$work/at-hub"
check "and at the controller" all_said "$work/at-controller"
# No WebSocket opens, and no answer has what only readers may see. (The controller has no /progress: 404.)
none_switched() { ! grep ' 101 ' "$work/at-hub" "$work/at-controller"; }
check "no WebSocket opens without the job's token" none_switched
# 200 is the answer to /healthz alone, once: a request that hides behind another is not a second one.
one_answer() { ! grep -E '(hidden|WebSocket|goes up|percent|null byte|whole URL|POST|LF alone|two tokens).*200.*(200|403|404)|(WebSocket|goes up|percent|null byte|whole URL|POST|LF alone|two tokens|100 GB|without end): .*200' "$1"; }
check "no page but /healthz is given, and none twice, by the hub" one_answer "$work/at-hub"
check "nor by the controller" one_answer "$work/at-controller"
check "a request with a header of 64 KiB or 2,000 headers gets no page" eval '! grep -E "^(a header of 64 KiB|2,000 headers): .* 200" "$work/at-hub" "$work/at-controller"'
[ $failures = 0 ] || sed 's/^/# /' "$work/at-hub" "$work/at-controller"

##### many of them ###############################################################################
mkfifo "$work/hold"
exec 9<>"$work/hold"
for at in 10.77.0.1:8443 10.77.0.3:8080 10.77.0.3:8444; do
    net_run 4 python3 tests/e2e/security/flood.py "$at" "$count" "${addresses[@]}" <"$work/hold" >"$work/flood-$at" 2>&1 &
    pids+=($!)
done
# Readers that ask for pages again and again and read none.
net_run 4 python3 - "$work/hold-readers" <<'P' &
import os, socket, ssl, sys, time
context = ssl._create_unverified_context()
peers = []
while not os.path.exists(sys.argv[1]):
    for host, port in (("10.77.0.1", 8443), ("10.77.0.3", 8080), ("10.77.0.3", 8444)):
        try:
            peer = socket.create_connection((host, port), 10, ("10.77.0.120", 0))
            peer = context.wrap_socket(peer) if port != 8080 else peer
            peer.settimeout(1)
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 2000)
            peers.append(peer)
        except OSError:
            pass
    peers = peers[-64:]
    time.sleep(0.05)
P
pids+=($!)
member 1
both_run() { [ "$(find "$work" -name 'runs-*' | wc -l)" = 2 ]; }
check "a member that comes meanwhile is let in, and the gang runs" until_true 60 both_run
few() { # MACHINE PORT: connections of strangers that the server has accepted
    local open=
    for _ in $(seq 20); do
        open=$(net_run "$1" ss -Hntp state established "( sport = :$2 )" | grep 'windlass' | grep -cE '10\.77\.0\.1[0-9][0-9]:')
        [ "$open" -gt 64 ] || return 0
        sleep 0.1
    done
    echo "# $open"
    return 1
}
tried() { [ "$(grep -l "^# $count tried" "$work"/flood-* | wc -l)" = 3 ]; }
check "few of them stay at the hub" few 1 8443
check "and at the controller" few 3 8080
check "and at its metrics" few 3 8444
check "all $count have been tried at each" until_true 240 tried
check "few stay at the hub when all have come" few 1 8443
check "and at the controller when all have come" few 3 8080
check "and at its metrics when all have come" few 3 8444
check "the hub answers a probe" until_true 60 answers $hub/healthz
check "and the controller" until_true 60 answers $controller/healthz
check "and its metrics still want a token" until_true 60 answers $metrics/metrics 401
small() { # PID: less than 64 MiB at most
    local high
    high=$(awk '/VmHWM/ { print $2 }' "/proc/$1/status")
    [ "$high" -lt 65536 ] || { echo "# $high KiB"; return 1; }
}
check "the hub stays small" small "${members[0]}"
check "and the controller" small "${pids[0]}"
touch "$work/end"
codes=
for p in "${members[@]}"; do
    until_true 60 eval "! kill -0 $p 2>/dev/null"
    wait "$p"
    codes="$codes $?"
done
touch "$work/hold-readers"
exec 9>&-
check "the gang ends well (codes$codes)" [ "$codes" = " 0 0" ]
check "and says so" [ "$(jq -r .state "$work/words-0")" = Succeeded ]
[ $failures = 0 ] || tail -n 20 "$work"/*.log | sed 's/^/# /'
exit $((failures > 0))
