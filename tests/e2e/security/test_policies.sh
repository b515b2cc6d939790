#!/usr/bin/env bash
# The NetworkPolicies that the controller makes for jobs, and the chart's for the controller, on a real API server
# (Kubernetes 1.20), and what they stop: each pod is a network namespace with the rules that a network plug-in makes of these
# very objects (tests/kube/policy_rules.py, nftables). Every attack reaches its port without the rules, and not with them;
# the job runs through under them. One of these ports is that of a launcher that the library of MPI's launchers leaves alone.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/netns.bash
. tests/e2e/spec_defaults.sh
. tests/cluster/lib.sh
net_possible || { echo "skip policies: network namespaces want root"; exit 0; }
need_packages nftables
nft_possible() { ip netns add "$net_prefix-try" && ip netns exec "$net_prefix-try" nft list ruleset >/dev/null 2>&1 && ip netns del "$net_prefix-try"; }
nft_possible || { ip netns del "$net_prefix-try"; echo "skip policies: this kernel has no nf_tables"; exit 0; }
. tests/e2e/cluster/jobs.sh
agent=$(realpath "${BUILD:-build}/windlass-agent")
preload=$(realpath "${BUILD:-build}/obj/windlass-preload.so")
k() { "$kubectl" "$@"; }
pods=()
trap 'kill -9 "${pods[@]}" 2>/dev/null; net_down; cleanup' EXIT

##### the objects #####################################################################################################
for name in jobs other metrics; do k create namespace $name >/dev/null; done
for name in default jobs other metrics kube-system; do k label namespace $name kubernetes.io/metadata.name=$name >/dev/null; done
k label namespace metrics team=metrics >/dev/null
apply_jobs() { # NAMESPACE
    job paint | k apply -n "$1" -f - >/dev/null
    k apply -n "$1" -f - >/dev/null <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: digits}
spec: {workers: 2, command: ["true"], image: x, volumes: []}
YAML
}
pod_there() { k get pod -n "$1" "$2"; }
metrics='{"namespaceSelector": {"matchLabels": {"team": "metrics"}}}'
"$bin/helm" template windlass charts/windlass -n default --set image.registry=x --set-json "networkPolicy.metricsFrom=[$metrics]" \
    --show-only templates/networkpolicy.yaml --show-only templates/deployment.yaml | k apply -n default -f - >/dev/null
controller peers --no-leader-election --network-policy-peers "[$metrics]" || exit 1
apply_jobs jobs
check "pods of a BatchScore are made" within 60 pod_there jobs paint-coordinator-1
check "and of a gang" within 60 pod_there jobs digits-1
k get networkpolicies -n jobs -o json >"$work/policies.json"
k get networkpolicies -n default -o json >"$work/chart.json"
check "the chart has one for the controller" [ "$(jq '.items | length' "$work/chart.json")" = 1 ]
check "one policy for each job" [ "$(jq '.items | length' "$work/policies.json")" = 2 ]
owners=$(jq -r '[.items[].metadata.ownerReferences[] | "\(.kind) \(.name)"] | sort | join(",")' "$work/policies.json")
check "each owned by its job's Service ($owners)" [ "$owners" = "Service digits-hub,Service paint-coordinator" ]
# By the job: another job's policy may come later.
is_first() { # JOB
    local policy pod
    policy=$(jq --arg job "$1" '[.items[] | select(.metadata.ownerReferences[0].name | startswith($job)) |
        .metadata.creationTimestamp] | max' "$work/policies.json")
    pod=$(k get pods -n jobs -o json | jq --arg job "$1" '[.items[] | select(.metadata.name | startswith($job)) |
        .metadata.creationTimestamp] | min')
    [ "$policy" != null ] && [ "$pod" != null ] && [ "$policy" \< "${pod}x" ]
}
check "and older than the job's first pod" is_first paint
check "and than the gang's" is_first digits

##### machines ########################################################################################################
# name namespace labels; the labels of jobs' pods are those of the API server's objects
labels_of() { k get pod -n jobs "$1" -o json | jq -c .metadata.labels; }
machines=("paint-coordinator-1 jobs $(labels_of paint-coordinator-1)" "paint-worker-0 jobs $(labels_of paint-worker-0)"
    "digits-0 jobs $(labels_of digits-0)" "digits-1 jobs $(labels_of digits-1)"
    "forged other $(labels_of paint-worker-0)" "neighbour jobs {}"
    "windlass default $(k get deployment -n default windlass -o json | jq -c .spec.template.metadata.labels)" 'proxy kube-system {}'
    'pretender other {"windlass.dev/role":"controller"}'
    "namesake jobs $(labels_of paint-worker-0 | jq -c '."app.kubernetes.io/name" = "disttrain" | ."windlass.dev/role" = "member"')" 'prometheus metrics {}')
net_up ${#machines[@]} none || { echo "not ok test_policies: no network namespaces"; exit 1; }
for i in "${!machines[@]}"; do
    read -r name namespace labels <<<"${machines[$i]}"
    jq -cn --arg name "$name" --arg namespace "$namespace" --argjson labels "$labels" --arg ip "10.77.0.$((i + 1))" '$ARGS.named'
done | jq -s --slurpfile policies "$work/policies.json" --slurpfile chart "$work/chart.json" --argjson namespaces "$(k get namespaces -o json |
    jq '[.items[] | {key: .metadata.name, value: .metadata.labels}] | from_entries')" \
    '{pods: ., policies: ($policies[0].items + $chart[0].items), namespaces: $namespaces}' >"$work/state.json"
number_of() { jq --arg name "$1" '[.pods[].name] | index($name) + 1' "$work/state.json"; }
cat >"$work/listen.py" <<'P'
import socket, sys, time
held = [socket.create_server(("0.0.0.0", int(port)), backlog=64) for port in sys.argv[1:]]
time.sleep(100000)
P
cat >"$work/connect.py" <<'P'
import socket, sys, time
for line in sys.stdin:
    name, to, port = line.split()
    told = "closed"
    end = time.monotonic() + (0 if sys.argv[1] == "short" else 30)
    while told == "closed":
        try:
            socket.create_connection((to, int(port)), 1.5).close()
            told = "open"
        except OSError: # at once, where no program listens yet
            if time.monotonic() >= end:
                break
            time.sleep(0.2)
    print(name, port, told, flush=True)
P
make_certificate "$work" || exit 3
mkdir -p "$work/data/in" "$work/words"
for i in $(seq -w 40); do echo "row $i" >"$work/data/in/f$i"; done
spec_schema crds/batchscore.yaml "$work/schema.json"
spec=$(fill_spec "$work/schema.json" "$(jq -cn --arg program "$work/score.py" '{input: {files: {path: "data/in"}}, miniBatchSize: 4,
    scorer: {command: {command: ["python3", $program]}}, output: {path: "data/out", mode: "AppendRow", appendRowFileName: "rows.txt"}}')")
cat >"$work/score.py" <<'P'
import json, sys
sys.stdin.readline()
print('{"ready":true}', flush=True)
for text in sys.stdin:
    request = json.loads(text)
    print(json.dumps({"id": request["id"], "results": [open(item).read().strip() for item in request["items"]]}), flush=True)
P
pod() { # MACHINE NAME COMMAND
    nsenter --net="/run/netns/$net_prefix-$1" -- env data="$work/data" WINDLASS_JOB=paint WINDLASS_RUN=0123456789abcdef \
        WINDLASS_UID=uid WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="$2" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
        WINDLASS_BIND=10.77.0.1:8443 WINDLASS_COORDINATOR=10.77.0.1:8443 WINDLASS_COORDINATOR_SHA256="$sha256" \
        WINDLASS_READ_TOKEN=00ff WINDLASS_TERMINATION_LOG="$work/words/$2" "$agent" "$3" >"$work/$2.log" 2>&1 &
    pods+=($!)
}
listen() { # MACHINE PORT...
    nsenter --net="/run/netns/$net_prefix-$1" -- python3 "$work/listen.py" "${@:2}" &
    pods+=($!)
}
pod 1 coordinator coordinate
listen 1 9000
listen 2 8443 9000
listen 3 8443
LD_PRELOAD=$preload listen 3 9000
launcher=${pods[-1]}
listen 4 8443 9000
listen "$(number_of windlass)" 8080 9000

##### who reaches what ################################################################################################
# from to port, under the rules
wanted='paint-worker-0 paint-coordinator-1 8443 open
paint-worker-0 paint-coordinator-1 9000 closed
paint-coordinator-1 paint-worker-0 9000 closed
windlass paint-coordinator-1 8443 open
windlass paint-coordinator-1 9000 closed
proxy paint-coordinator-1 8443 open
proxy paint-coordinator-1 9000 closed
prometheus paint-coordinator-1 9000 open
prometheus paint-worker-0 9000 open
digits-1 digits-0 8443 open
digits-1 digits-0 9000 open
digits-0 digits-1 9000 open
windlass digits-0 8443 open
windlass digits-0 9000 closed
prometheus windlass 8080 open
prometheus windlass 9000 closed
paint-worker-0 windlass 8080 closed'
for from in forged neighbour pretender namesake; do
    for to in paint-coordinator-1 paint-worker-0 digits-0 digits-1; do
        for port in 8443 9000; do wanted+=$'\n'"$from $to $port closed"; done
    done
    wanted+=$'\n'"$from windlass 8080 closed"
done
for to in digits-0 digits-1; do wanted+=$'\n'"paint-worker-0 $to 9000 closed"; done
reaches() { # FROM HOW PATIENCE: what it really reaches of what should be HOW
    awk -v from="$1" -v how="$2" '$1 == from && (how == $4) { print $2, $3 }' <<<"$wanted" | while read -r to port; do
        echo "$to 10.77.0.$(number_of "$to") $port"
    done | net_run "$(number_of "$1")" python3 "$work/connect.py" "$3" | sed "s/^/$1 /"
}
look() { # FILE: what each really reaches; those that should are tried for 30 s
    local from how asked=()
    for from in $(cut -d' ' -f1 <<<"$wanted" | sort -u); do
        for how in open closed; do
            reaches "$from" $how "$([ $how = open ] || [ "$1" = "$work/before" ] || echo short)" >"$1.$from.$how" &
            asked+=($!)
        done
    done
    wait "${asked[@]}"
    sort "$1".* >"$1"
}
look "$work/before"
check "without the rules every attack reaches its port" [ "$(grep -c ' open$' "$work/before")" = "$(wc -l <<<"$wanted")" ]
# (Sanitizers want no library before them: builds with one have none.)
[ ! -s "$preload" ] || check "also that of a launcher in which MPI's would listen on loopback" grep -q windlass-preload.so "/proc/$launcher/maps"
for i in 1 2 3 4 "$(number_of windlass)"; do
    python3 tests/kube/policy_rules.py "$(jq -r ".pods[$((i - 1))].name" "$work/state.json")" <"$work/state.json" >"$work/rules.$i" &&
        nsenter --net="/run/netns/$net_prefix-$i" -- nft -f "$work/rules.$i" ||
        { echo "not ok test_policies: no rules for machine $i"; exit 1; }
done
look "$work/after"
sort <<<"$wanted" | diff - "$work/after" >"$work/diff"
check "with them each reaches what is meant, and nothing else" [ ! -s "$work/diff" ]
sed 's/^/# /' "$work/diff"
pod 2 worker score
wait "${pods[-1]}"
code=$?
wait "${pods[0]}"
check "the job runs through under the rules (codes $? $code)" diff <(seq -w 40 | sed 's/^/row /') "$work/data/out/rows.txt"

##### a controller that may not make them #############################################################################
kill "$pid"
wait "$pid"
k create namespace windlass >/dev/null
"$bin/helm" template windlass charts/windlass -n windlass --set image.registry=x --set networkPolicy.create=false \
    --show-only templates/rbac.yaml | k apply -n windlass -f - >/dev/null
token=$("$api/curl" /api/v1/namespaces/windlass/serviceaccounts/windlass/token -X POST -H 'Content-Type: application/json' \
    -d '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}' | jq -re .status.token)
k config view --raw -o json | jq --arg token "$token" '.users[].user = {token: $token}' >"$work/poor.conf"
k create namespace poor >/dev/null
controller poor --no-leader-election --kubeconfig "$work/poor.conf" || exit 1
apply_jobs poor
check "without the right to make policies a job goes on" within 60 pod_there poor paint-coordinator-1
check "and a gang" within 60 pod_there poor digits-1
told() { k get events.events.k8s.io -n poor -o json | jq -r '.items[] | select(.reason == "NetworkPolicyRefused") | .regarding.name + " " + .type' | sort; }
both_told() { [ "$(told)" = $'digits Warning\npaint Warning' ]; }
check "each says so in one event" within 60 both_told
sleep 2
check "and does not repeat it" both_told
exit $((failures > 0))
