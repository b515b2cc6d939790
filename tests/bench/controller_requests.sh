#!/usr/bin/env bash
# What a job costs the API server, from apply to its end: requests of the controller by verb, and revisions of etcd (all
# writes, the simulated kubelet's and the garbage collector's included), on a real API server 1.20 whose pods
# tests/cluster/kubelet.py plays.
# Then, from the API server's audit log, what each request was for, its verb and resource; and the time from a job
# stored to its last pod stored, median and worst.
#   JOBS=20   of each kind; a Sweep has TRIALS=4 and counts with its trials
#   KINDS="batchscore disttrain sweep"
#   MOST="8.4 8.4 35"   fails above so many requests a job, of each of KINDS, without the writes of its status: so that
#                     none creeps in; and above so many of these, of which a job has more if it takes long to begin
#                     (docs/client.md): on a machine with less load than processors, and on another
#   MOST_STATUS="2.9 2.9 16" MOST_STATUS_BUSY="4.4 4.4 24"
set -eu
cd "$(dirname "$0")/../.."
: "${JOBS:=20}" "${TRIALS:=4}" "${KINDS:=batchscore disttrain sweep}" "${MOST:=8.4 8.4 35}"
: "${MOST_STATUS:=2.9 2.9 16}" "${MOST_STATUS_BUSY:=4.4 4.4 24}"
policy=$(mktemp) audit=$(mktemp) counts=$(mktemp)
printf 'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n' >"$policy"
api_flags=(--audit-policy-file="$policy" --audit-log-path="$audit")
# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/cluster/jobs.sh
. tests/e2e/cluster/jobs.sh
trap 'cleanup; rm -f "$policy" "$audit" "$counts"' EXIT
controller one --no-leader-election
python3 tests/cluster/kubelet.py "$api" 3 &
requests() { page "$port" /metrics | awk '/^windlass_apiserver_requests_total/ { n += $2 } END { printf "%d", n }'; }
revision() { "$kubectl" get --raw '/api/v1/namespaces/default/configmaps?limit=1' | jq -r .metadata.resourceVersion; }
volumes='[{name: data, persistentVolumeClaim: {claimName: data}}]'
batchscore() {
    printf -- '---\napiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: %s}\nspec: {input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}}, output: {path: data/out-%s}, workers: {min: 1, max: 2}, volumes: %s}\n' "$1" "$1" "$volumes"
}
train='{workers: 2, image: "registry.test/mpi:1", command: [train], launcher: None, volumes: '$volumes
disttrain() { printf -- '---\napiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec: %s}\n' "$1" "$train"; }
sweep() {
    printf -- '---\napiVersion: windlass.dev/v1alpha1\nkind: Sweep\nmetadata: {name: %s}\nspec: {maxTrials: %d, maxConcurrentTrials: 2, algorithm: {kind: Random}, objective: {metric: x, goal: Maximize}, parameters: [{name: X, uniform: {min: "0", max: "1"}}], trial: %s}\n' "$1" "$TRIALS" "${train/\[train\]/[train, \$(X)]}}"
}
ended() { # KIND
    [ "$("$kubectl" get "$1" -o json | jq '[.items[] | select(any(.status.conditions[]?; .type == "Succeeded" and .status != "Unknown"))] | length')" -ge "$count" ]
}
# asked FROM JOBS: a line per verb and resource: how many of ours per job, since that line of the log.
asked() {
    tail -n +"$1" "$audit" | jq -r 'select((.userAgent // "" | startswith("windlass")) and .verb != "watch")
        | "\(.verb) \(.objectRef.resource)\(if .objectRef.subresource then "/" + .objectRef.subresource else "" end) \(.responseStatus.code)"' |
        sort | uniq -c | awk -v n="$2" '{ printf "    %5.2f %-6s %s, %s\n", $1 / n, $2, $3, $4 }'
}
# begun FROM KIND: of the jobs since that line of the log: stored to the last pod stored, in ms. A pod has its job's name.
begun() {
    tail -n +"$1" "$audit" | jq -rs --arg kind "${2}s" '
        def at: sub("(?<s>.*)\\.(?<us>[0-9]{6})Z"; "\(.s)Z \(.us)") | split(" ") | (.[0] | fromdateiso8601) * 1000 + (.[1] | tonumber) / 1000;
        map(select(.verb == "create" and .responseStatus.code == 201) | {resource: .objectRef.resource, name: .objectRef.name, at: (.stageTimestamp | at)})
        | (map(select(.resource == $kind and .name)) ) as $jobs | map(select(.resource == "pods" and .name)) as $pods
        | [$jobs[] | . as $job | ([$pods[] | select(.name | startswith($job.name + "-"))] | map(.at) | max) as $last | select($last) | $last - $job.at]
        | sort | if length > 0 then "    \(.[length / 2 | floor] | round) ms from stored to its last pod stored, at most \(.[-1] | round)" else empty end'
}
load_is_low() { awk -v most="$(nproc)" '{ exit $1 >= most }' /proc/loadavg; }
most=($MOST) status=($MOST_STATUS) status_busy=($MOST_STATUS_BUSY) code=0
for kind in $KINDS; do
    count=$JOBS
    [ $kind != sweep ] || count=$((JOBS / TRIALS))
    sleep 5
    load_is_low || status=("${status_busy[@]}")
    before=$(requests) first=$(revision) line=$(($(wc -l <"$audit") + 1))
    for ((i = 0; i < count; i++)); do $kind "$kind-$i"; done | "$kubectl" apply -f - >/dev/null
    within 300 ended $kind || { echo "controller_requests.sh: the jobs did not end" >&2; "$kubectl" get bs,dt,sweep >&2; exit 1; }
    sleep 5
    awk -v k=$kind -v n=$count -v r=$(($(requests) - before)) -v w=$(($(revision) - first)) \
        'BEGIN { printf "%-12s %5.1f requests of the controller, %5.1f revisions of etcd a job (%d jobs)\n", k, r / n, w / n, n }'
    load_is_low || status=("${status_busy[@]}")
    asked "$line" "$count" | tee "$counts"
    [ $kind = sweep ] || begun "$line" $kind
    awk -v k=$kind -v all="$(($(requests) - before))" -v jobs="$count" -v most="${most[0]}" -v most_status="${status[0]}" '
        $3 ~ /\/status,$/ { n += $1 }
        END {
            rest = all / jobs - n
            printf "    %5.2f writes of status, at most %.1f; %5.2f others, at most %.1f\n", n, most_status, rest, most
            exit rest > most || n > most_status
        }' "$counts" || {
        echo "controller_requests.sh: more requests for a $kind than are known" >&2
        code=1
    }
    status=("${status[@]:1}") status_busy=("${status_busy[@]:1}")
    most=("${most[@]:1}")
done
exit $code
