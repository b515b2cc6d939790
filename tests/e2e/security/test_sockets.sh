#!/usr/bin/env bash
# What listens in every kind of pod, and what a stranger gets there without a secret: coordinator, workers of both
# programs and one with a model server, NAME-0 and members of a gang under mpirun, of a training, of Torchrun and of no
# launcher, trigger watcher, registrar, controller, each a network namespace; the stranger is a fourth machine. A port
# that all may reach must be one of these doors: TLS 1.3 that answers 401 and 403 (hub), TLS with a key made of the job's
# token (keyed), metrics that want a token (metrics), or the controller's two words for probes (probes).
# A port that is not ours but MPI's, within a rank, is a `rank`.
# (A Sweep's trials are gangs, and what it registers a registrar; its page, and what status shows, are files and text.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
. tests/e2e/start.sh
machines_begin windlass windlass-agent windlass-shim windlass-trainer tests/endpoint/model_server
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
mkdir -p "$work/data/in" "$work/out"
for i in $(seq -w 8); do echo "row $i" >"$work/data/in/f$i"; done
# "PROTOCOL ADDRESS:PORT PROGRAM PID" of what listens on a machine, TCP and UDP, but for loopback, which its own pod alone has.
listeners() {
    net_run "$1" ss -Hlntup | awk '{ print $1, $5, $7 }' | grep -vE ' (127\.[0-9.]*|\[::1\]|\[::ffff:127\.[0-9.]*\])(%[a-z0-9]+)?:[0-9]+ ' |
        sed -E 's/^([a-z]+) ([^ ]+) users:\(\("([^"]*)",pid=([0-9]+).*/\1 \2 \3 \4/'
}
asks_get() { net_run 4 curl -sk -o "$work/page" -w '%{http_code}' --max-time 20 "$@"; }
# gets CODE ARGUMENT...: whether curl gets it; what it got instead is shown if the port has no kind.
gets() {
    local code ended
    code=$(asks_get "${@:2}")
    ended=$?
    [ "$code" = "$1" ] || { echo "# curl ${*: -1}: $code, wanted: $1, ended with $ended" >>"$work/got"; return 1; }
}
is_socket() { # URL
    gets 401 --http1.1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "$1"
}
# TLS 1.3, 401 for its WebSocket without the token, 403 for its figures, one word of its life.
is_hub() { # IP:PORT
    { is_socket "https://$1/work" || is_socket "https://$1/gang"; } && gets 000 --tls-max 1.2 "https://$1/healthz" &&
        gets 403 "https://$1/progress" && gets 200 "https://$1/healthz" && grep -qxE '(\{"status": "ok"\}|ok)' "$work/page" && gets 404 "https://$1/"
}
# TLS with a pre-shared key: no handshake without it, and not a byte without TLS.
is_keyed() {
    local said
    said=$(net_run 4 timeout 20 openssl s_client -tls1_3 -connect "$1" -psk "$(printf '%064d' 1)" -psk_identity worker </dev/null 2>&1)
    [[ $said != *'New, TLSv1.3, Cipher is TLS'* && $said == *alert* ]] || return 1
    said=$(net_run 4 timeout 20 bash -c "exec 3<>/dev/tcp/${1%:*}/${1##*:} && printf 'HELO x\r\n\r\n' >&3 && timeout 15 head -c 64 <&3 | tr -d '\0'" 2>/dev/null)
    [ -z "$said" ] || [[ $said == $'\x15\x03'* ]] # a TLS alert
}
is_rank() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q 'windlass-trainer train '; }
is_probes() {
    [ "$(asks_get "http://$1/healthz")" = 200 ] && [ "$(cat "$work/page")" = ok ] && [[ $(asks_get "http://$1/readyz") == [25]* ]] &&
        [ "$(wc -c <"$work/page")" -lt 80 ] && [ "$(asks_get "http://$1/metrics")" = 404 ] && [ "$(asks_get "http://$1/")" = 404 ]
}
is_metrics() { [ "$(asks_get "https://$1/metrics")" = 401 ] && [ "$(asks_get --tls-max 1.2 "https://$1/metrics")" = 000 ] && [ "$(asks_get "https://$1/")" = 404 ]; }
# doors MACHINE WANTED: of each open port the kind of its door, sorted: "hub keyed".
doors() {
    local protocol at program pid port found=()
    listeners "$1" >"$work/heard"
    : >"$work/got"
    while read -r protocol at program pid; do
        port=10.77.0.$1:${at##*:}
        if [ "$protocol" != tcp ]; then found+=("$protocol:${at##*:}:$program")
        elif is_hub "$port"; then found+=(hub)
        elif is_metrics "$port"; then found+=(metrics)
        elif is_probes "$port"; then found+=(probes)
        elif is_keyed "$port"; then found+=(keyed)
        elif is_rank "$pid"; then found+=(rank)
        else found+=("OPEN:${at##*:}:$program")
        fi
    done <"$work/heard"
    found=$(printf '%s\n' "${found[@]}" | sort -u | paste -sd' ')
    [ "$found" = "$2" ] && return 0
    echo "# machine $1: '$found', wanted: '$2'"
    sed 's/^/# /' "$work/heard"
    cat "$work/got"
    return 1
}
stop() {
    kill -9 "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}
# What the pods' programs have started outlives them.
none_run() { [ -z "$(for i in 1 2 3; do ip netns pids "$net_prefix-$i"; done)" ]; }
clear_machines() {
    local i
    stop
    for i in 1 2 3; do ip netns pids "$net_prefix-$i" | xargs -r kill -9 2>/dev/null; done
    until_true 60 none_run
}

##### a BatchScore, and who watches for its trigger ####################################################################
cat >"$work/score.py" <<'P'
import json, sys, time
sys.stdin.readline()
print('{"ready":true}', flush=True)
for text in sys.stdin:
    open(sys.argv[1], "a").close()
    time.sleep(600)
P
spec_schema crds/batchscore.yaml "$work/schema.json"
score_spec() { # MARK
    fill_spec "$work/schema.json" "$(jq -cn --arg work "$work" --arg mark "$work/$1" '{input: {files: {path: "data/in"}}, miniBatchSize: 1, trigger: {},
        scorer: {command: {command: ["python3", "\($work)/score.py", $mark]}}, output: {path: "data/out", mode: "AppendRow", appendRowFileName: "rows.txt"}}')"
}
pod() { # MACHINE NAME PROGRAM COMMAND
    nsenter --net="/run/netns/$net_prefix-$1" -- env data="$work/data" WINDLASS_JOB=sockets WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid \
        WINDLASS_SPEC="$(score_spec "$2.mark")" WINDLASS_TOKEN="$token" WINDLASS_WORKER="$2" WINDLASS_THREADS=1 WINDLASS_MARK= \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_BIND=10.77.0.1:8443 \
        WINDLASS_COORDINATOR=10.77.0.1:8443 WINDLASS_COORDINATOR_SHA256="$sha256" WINDLASS_READ_TOKEN=00ff \
        WINDLASS_TERMINATION_LOG="$work/words-$2" "$build/$3" "$4" >"$work/$2.log" 2>&1 &
    pids+=($!)
}
pod 1 coordinator windlass-agent coordinate
pod 2 worker windlass-agent score
pod 3 shim windlass-shim score
both_work() { [ -e "$work/worker.mark" ] && [ -e "$work/shim.mark" ]; }
check "coordinator and two workers run" until_true 60 both_work
[ $failures = 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
check "a coordinator has the hub's door alone" doors 1 hub
check "a worker has none" doors 2 ''
check "nor one of the shim" doors 3 ''
stop
# A worker with a model server of its own: two containers of a pod, which share its network. What the server listens on is
# its command's; this one's is loopback, as in docs/operate/model-servers.md. It keeps its one request for ten minutes.
echo '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": "a"}]}}' >"$work/data/requests.jsonl"
score_spec() {
    fill_spec "$work/schema.json" "$(jq -cn --arg server "$build/tests/endpoint/model_server" '{input: {table: {path: "data/requests.jsonl", format: "JSONLines"}},
        scorer: {endpoint: {server: {image: "none", port: 8000, command: [$server, "port=8000", "latency=600000"]}}}, output: {path: "data/answers", mode: "AppendRow", appendRowFileName: "output.jsonl"}}')"
}
mkdir -p "$work/server"
pod 1 asking windlass-agent coordinate
nsenter --net="/run/netns/$net_prefix-2" -- "$build/windlass-shim" serve "$work/server" -- "$build/tests/endpoint/model_server" port=8000 latency=600000 >"$work/server.log" 2>&1 &
pids+=($!)
WINDLASS_SERVER=$work/server pod 2 asker windlass-agent score
# (A worker asks whether its server is ready before it connects to the coordinator, which may not listen by then.)
is_asked() {
    local port
    for port in 8000 8443; do net_run 2 ss -Hnt state established "( dport = :$port )" | grep -q . || return 1; done
    grep -q '^8000$' "$work/server.log"
}
check "a worker asks its model server" until_true 60 is_asked
[ $failures = 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
check "the coordinator has the hub's door alone" doors 1 hub
check "neither the worker nor what starts the server has one" doors 2 ''
clear_machines
pod 2 watcher windlass-agent watch
sleep 1 # (nothing is waited for: it listens at no time)
check "a trigger watcher has none" eval 'kill -0 "${pids[0]}" && doors 2 ""'
stop
# It ends at once; its system calls are looked at.
registrar() {
    mkdir -p "$work/data/model/v" "$work/data/registry"
    echo weights >"$work/data/model/v/model.onnx"
    env data="$work/data" WINDLASS_JOB=sockets WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid WINDLASS_WORKER=r WINDLASS_TERMINATION_LOG="$work/words-r" \
        WINDLASS_SPEC='{"from":"data/model/v","to":"data/registry","name":"digits","version":"20261122T094400Z-1a2b3c4d","metadata":{}}' \
        strace -f -qq -e trace=bind,listen -o "$work/calls" "$build/windlass-agent" register >"$work/registrar.log" 2>&1
    [ -d "$work/data/registry/digits" ] && ! grep -E 'listen\(|bind\(.*AF_INET' "$work/calls" && return 0
    sed 's/^/# /' "$work/registrar.log" "$work/calls"
    return 1
}
check "a registrar registers, and listens nowhere" registrar

##### a gang ###########################################################################################################
member() { # INDEX PROGRAM SPEC: on machine INDEX + 1
    local own=(WINDLASS_HUB=10.77.0.1:8443 WINDLASS_HUB_SHA256="$sha256")
    [ "$1" -gt 0 ] || own=(WINDLASS_BIND=10.77.0.1:8443 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")"
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u WINDLASS_READ_TOKEN=00ff)
    # shellcheck disable=SC2016 # the inner shell's
    nsenter --net="/run/netns/$net_prefix-$(($1 + 1))" unshare --uts --ipc -- sh -c 'hostname "$0" && exec "$@"' "machine-$(($1 + 1))" env -i TMPDIR="$work" PATH="$PATH" out="$work/out" \
        WINDLASS_JOB=gang WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$3" WINDLASS_TOKEN="$token" WINDLASS_THREADS=1 WINDLASS_WORKER="gang-$1-1" \
        WINDLASS_INDEX="$1" WINDLASS_ATTEMPT=1 POD_IP="10.77.0.$(($1 + 1))" WINDLASS_FOLDER="$work/pod-$1" \
        WINDLASS_TERMINATION_LOG="$work/words-$1" "${own[@]}" "$build/$2" launch >"$work/pod-$1.out" 2>"$work/pod-$1.log" &
    pids+=($!)
}
gang_spec() { # FIELDS
    fill_spec "$work/gang.json" "$(jq -cn "{workers: 3, minWorkers: 3, launcher: \"MPI\", restart: {maxRestarts: 0, backoffSeconds: 0, waitSeconds: 60, hangSeconds: 300}} + $1")"
}
spec_schema crds/disttrain.yaml "$work/gang.json"
# Without mpirun there is the tunnel's port all the same: pods find out by it whether they reach each other. It leads nowhere,
# not even with the key. (What Torchrun's and other programs listen on is theirs: MASTER_PORT of docs/launch.md.)
with_key() { # ARGUMENT...: the port of NAME-0's tunnel, with the key made of the token
    local port key
    port=$(listeners 1 | sed -n 's/^tcp .*:\([0-9]*\) windlass-.*/\1/p' | grep -vx 8443)
    key=$(printf 'windlass tunnel 1' | openssl dgst -sha256 -hmac "$token" | sed 's/.*= *//')
    net_run 4 timeout 60 openssl s_client -tls1_3 -connect "10.77.0.1:$port" -psk_identity 'worker 0' -psk "$key" "$@" 2>/dev/null
}
is_let_in() { with_key </dev/null | grep -q ', TLSv1.3, Cipher is TLS'; }
# The way to NAME-0's port 8443 (0x20fb) is asked for: "o", and then what listens there, or the end.
way_to_port() {
    local byte=
    IFS= read -r -N 1 -t 60 byte < <(printf '\x20\xfb' | with_key -quiet)
    echo "$byte"
}
for launcher in None Torchrun; do
    # shellcheck disable=SC2016 # the ranks' shell
    spec=$(gang_spec "{launcher: \"$launcher\", command: [\"bash\", \"-c\", \">\$out/$launcher.\$BASHPID; sleep 600\"]}")
    for i in 2 1 0; do member $i windlass-shim "$spec"; done
    each_runs() { [ "$(find "$work/out" -name "$launcher.*" | wc -l)" = 3 ]; }
    check "a gang runs with the launcher $launcher" until_true 60 each_runs
    [ $failures = 0 ] || tail -n 5 "$work"/pod-*.log | sed 's/^/# /'
    check "NAME-0 has the hub's door, and one with the job's key" doors 1 "hub keyed"
    check "a member has one with the job's key" doors 2 keyed
    check "each of them" doors 3 keyed
    check "to which the token's key belongs" is_let_in
    check "and which leads nowhere, without an mpirun" [ "$(way_to_port)" = '' ]
    clear_machines
done
# shellcheck disable=SC2016 # the rank's shell
member 0 windlass-shim "$(gang_spec '{workers: 1, minWorkers: 1, launcher: "None", command: ["bash", "-c", ">$out/alone; sleep 600"]}')"
check "a gang of one pod runs" until_true 60 test -e "$work/out/alone"
check "it has the hub's door alone: no other pod connects to it" doors 1 hub
clear_machines
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    # shellcheck disable=SC2016 # the ranks' shell
    spec=$(gang_spec '{command: ["mpirun", "-np", "3", "bash", "-c", ">$out/rank.$BASHPID; sleep 600"]}')
    for i in 2 1 0; do member $i windlass-shim "$spec"; done
    all_run() { [ "$(find "$work/out" -name 'rank.*' | wc -l)" = 3 ]; }
    check "a gang runs under mpirun" until_true 120 all_run
    [ $failures = 0 ] || tail -n 5 "$work"/pod-*.log | sed 's/^/# /'
    check "NAME-0 has the hub's door, and one with the job's key" doors 1 "hub keyed"
    check "a member has one with the job's key" doors 2 keyed
    check "each of them" doors 3 keyed
    check "which leads who has the key to a port" [ "$(way_to_port)" = o ]
    stop
    # A training's ranks: what MPI itself listens on asks for nothing, and only a NetworkPolicy closes it (docs/launch.md).
    training='{trainer: {model: {new: "MLP", classes: 3, shape: [3, 12, 12]}, data: {train: {synthetic: {count: 600, classes: 3, shape: [3, 12, 12]}}},
        epochs: 100000, batchSize: 48, optimizer: {learningRate: "0.01"}, output: {path: "out/model"}}}'
    for i in 2 1 0; do member $i windlass-trainer "$(gang_spec "$training")"; done
    all_train() { [ "$(wc -l <"$work/out/model/metrics.csv")" -gt 1 ]; }
    check "a training runs on three machines" until_true 120 all_train
    [ $failures = 0 ] || tail -n 5 "$work"/pod-*.log | sed 's/^/# /'
    # (Ranks that never rest would take all processors while a stranger looks at their ports: these run a tenth of the time.)
    mapfile -t ranks < <(for i in 1 2 3; do ip netns pids "$net_prefix-$i"; done | while read -r rank; do
        [ "$(cat "/proc/$rank/comm")" != windlass-traine ] || ! is_rank "$rank" || echo "$rank"
    done)
    check "by a rank on each" [ ${#ranks[@]} = 3 ]
    seldom() { while kill -CONT "${ranks[@]}" && nap 0.05 && kill -STOP "${ranks[@]}" && nap 0.45; do :; done; }
    seldom &
    pids+=($!)
    check "beside MPI's ports of its ranks it has those of a gang" doors 1 "hub keyed rank"
    check "and so has a member" doors 2 "keyed rank"
    clear_machines
else
    echo "skip the gang: Open MPI is not here"
fi

##### the controller ###################################################################################################
cat >"$work/conf" <<'C'
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://10.77.0.4:6443"}}]
users: [{name: none, user: {token: "none"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
C
none_listens() { [ -z "$(listeners 1)" ]; } # (ranks end after their launcher)
until_true 60 none_listens
nsenter --net="/run/netns/$net_prefix-1" -- "$build/windlass" controller --kubeconfig="$work/conf" --no-leader-election --metrics-listen='[::]:8444' >"$work/controller.log" 2>&1 &
pids+=($!)
listens() { listeners 1 | grep -q ':8444 '; }
check "the controller listens" until_true 60 listens
check "it has two words for probes, and metrics for tokens" doors 1 "metrics probes"
[ $failures = 0 ] || tail -n 5 "$work/controller.log" | sed 's/^/# /'
stop
exit $((failures > 0))
