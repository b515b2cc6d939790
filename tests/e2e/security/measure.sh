#!/usr/bin/env bash
# What strangers cost the controller, a gang's hub and a coordinator, in figures (docs/operate/security.md): 5,000
# connections from 40 addresses to each (silent, half a TLS record, a bare handshake, half a request), long headers, many
# headers, a byte a second, requests whose answers are never read. These three and the probes have the first processor,
# before all other programs; the strangers have the last one. BUILD: that of another commit, to compare with.
# No test: it prints what it measures. Beside work: tests/bench/strangers.sh.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
. tests/e2e/start.sh
machines_begin windlass windlass-shim windlass-agent
first=(nice -n -15 taskset -c 0) last=(taskset -c $(($(nproc) - 1)))
addresses=()
for i in $(seq 101 140); do
    ip -n "$net_prefix-4" addr add "10.77.0.$i/24" dev eth0
    addresses+=("10.77.0.$i")
done
cat >"$work/conf" <<'C'
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://10.77.0.3:6443"}}]
users: [{name: none, user: {token: "none"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
C
nsenter --net="/run/netns/$net_prefix-1" -- "${first[@]}" "$build/windlass" controller --kubeconfig="$work/conf" --no-leader-election >"$work/controller.log" 2>&1 &
pids+=($!)
spec='{"workers":2,"minWorkers":2,"slotsPerWorker":1,"gpus":0,"launcher":"None","restart":{"maxRestarts":0,"backoffSeconds":0,"waitSeconds":600,"hangSeconds":0},"command":["sleep","600"]}'
nsenter --net="/run/netns/$net_prefix-2" -- env -i TMPDIR="$work" PATH="$PATH" WINDLASS_JOB=g WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$spec" \
    WINDLASS_TOKEN=token WINDLASS_WORKER=g-0-1 WINDLASS_INDEX=0 WINDLASS_ATTEMPT=1 POD_IP=10.77.0.2 WINDLASS_FOLDER="$work/pod" WINDLASS_BIND=10.77.0.2:8443 \
    WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u WINDLASS_READ_TOKEN=00ff \
    WINDLASS_TERMINATION_LOG="$work/words" "${first[@]}" "$build/windlass-shim" launch >"$work/hub.log" 2>&1 &
pids+=($!)
mkdir -p "$work/data/in"
touch "$work/data/in/a"
spec_schema crds/batchscore.yaml "$work/schema.json"
spec=$(fill_spec "$work/schema.json" '{"input": {"files": {"path": "data/in"}}, "miniBatchSize": 1, "scorer": {"command": {"command": ["sleep", "600"]}}, "output": {"path": "data/out", "mode": "AppendRow", "appendRowFileName": "rows.txt"}}')
nsenter --net="/run/netns/$net_prefix-1" -- env -i TMPDIR="$work" PATH="$PATH" data="$work/data" WINDLASS_JOB=s WINDLASS_RUN=0123456789abcdef \
    WINDLASS_SPEC="$spec" WINDLASS_TOKEN=token WINDLASS_WORKER=coordinator WINDLASS_BIND=10.77.0.1:8443 WINDLASS_UID=u WINDLASS_READ_TOKEN=00ff \
    WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
    WINDLASS_TERMINATION_LOG="$work/words-s" "${first[@]}" "$build/windlass-agent" coordinate >"$work/coordinator.log" 2>&1 &
pids+=($!)
urls=(http://10.77.0.1:8080/healthz https://10.77.0.2:8443/healthz https://10.77.0.1:8443/healthz) names=(controller hub coordinator)
answers() { net_run 3 curl -skf -o /dev/null --max-time 5 "$1"; }
for i in 0 1 2; do until_true 60 answers "${urls[$i]}" || { tail "$work"/*.log; exit 1; }; done
probes() { # WHEN
    local i at
    for i in 0 1 2; do
        at=${urls[$i]#*//} at=${at%/*}
        net_run 3 "${first[@]}" python3 tests/e2e/security/probe.py "${urls[$i]%%:*}" "${at%:*}" "${at#*:}" 100 | sort -k2n |
            awk -v what="${names[$i]}, $1" -v kb="$(awk '/VmHWM/ { print $2 }' "/proc/${pids[$i]}/status")" '{ ok += $1 == 200; took[NR] = $2 }
                END { printf "%s: %d of %d probes answered, median %.1f ms, worst but one %.1f ms, worst %.1f ms; %d KiB at most\n", what, ok, NR, took[int((NR + 1) / 2)], took[NR - 1], took[NR], kb }'
    done
}
probes quiet
mkfifo "$work/hold"
exec 9<>"$work/hold"
for i in 0 1 2; do
    at=${urls[$i]#*//} at=${at%/*}
    net_run 4 "${last[@]}" python3 tests/e2e/security/flood.py "$at" 5000 "${addresses[@]}" <"$work/hold" >"$work/flood-$i" 2>&1 &
    pids+=($!)
done
sleep 1
probes "while strangers come"
tried() { [ "$(grep -l tried "$work"/flood-? | wc -l)" = 3 ]; }
until_true 120 tried
for i in 0 1 2; do sed "s/^#/${names[$i]}:/" "$work/flood-$i"; done
probes "all there"
net_run 4 python3 - <<'P'
import socket, ssl, time
context = ssl._create_unverified_context()
for name, host, port in (("controller", "10.77.0.1", 8080), ("hub", "10.77.0.2", 8443), ("coordinator", "10.77.0.1", 8443)):
    def connect():
        peer = socket.create_connection((host, port), 10)
        peer.settimeout(20)
        return context.wrap_socket(peer) if port == 8443 else peer
    start = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
    for what, head in (("a header of 64 KiB", b"X: " + b"x" * 65536), ("2,000 headers", b"\r\n".join(b"X%d: y" % i for i in range(2000)))):
        peer, began = connect(), time.time()
        try:
            peer.sendall(start + head + b"\r\n\r\n")
            said = peer.recv(100).split(b"\r\n")[0].decode()
        except OSError:
            said = ""
        print(f"{name}: {what}: {said or 'closed'} after {time.time() - began:.1f} s")
    peer, began = connect(), time.time()
    try:
        for byte in start:
            peer.sendall(bytes([byte]))
            time.sleep(1)
    except OSError:
        pass
    print(f"{name}: a byte a second: closed after {time.time() - began:.0f} s")
    sent, began, ends = 0, time.time(), set()
    for _ in range(8):  # as many as an address may have
        try:
            peer = connect()
            peer.settimeout(3)
            while time.time() - began < 60:
                sent += peer.send((start + b"\r\n") * 100)
        except OSError as why:
            ends.add(type(why).__name__)
    print(f"{name}: 8 that ask without end and read nothing: {sent} bytes taken in {time.time() - began:.1f} s, then", *sorted(ends))
P
probes afterwards
exit 0
