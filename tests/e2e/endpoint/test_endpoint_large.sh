#!/usr/bin/env bash
# scorer.endpoint by `windlass run`: 64 requests in flight at a server that gives each an answer of 10 MiB, all at the same
# time: each counts once, and no process of the job takes more than 1.4 GiB (without a share of the memory: 2.4 GiB). The
# same, with SOAK_ROUNDS, of 64 requests of 28 MiB that a template makes of small rows.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
trap 'stop_servers; rm -rf "$work"' EXIT
mkdir -p "$work/data"
batch 64 >"$work/data/requests.jsonl"
start_server large latency=1000 big=100 || exit 3
job() { # NAME MIB INPUT FIELDS
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {table: {path: data/$3, format: JSONLines}}
  scorer: {endpoint: {url: 'http://127.0.0.1:$port', concurrency: 64$4}}
  output: {path: data/$1, mode: SummaryOnly}
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout -k 5 ${LIMIT:-300} python3 tests/e2e/security/hostile_files.py run "$2" "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" >"$work/said" 2>&1 </dev/null && return 0
    tail -qn 5 "$work/said" "$work/state-$1"/*.log | cut -c1-300 | sed 's/^/# /'
    return 1
}
check "the job succeeds, and its processes stay small" job large 1434 requests.jsonl ''
[ -z "${SHOW:-}" ] || grep -h '^# [0-9]* MiB' "$work/said"
[ -z "${SHOW:-}" ] || jq -c .requests "$work/data/large/summary.json"
check "each request counts once" jq -e '.items.done == 64 and .items.failed == 0 and .requests.refused == 0' "$work/data/large/summary.json"
[ -n "${SOAK_ROUNDS:-}" ] || exit $((failures > 0))
stop_servers
start_server rows latency=1000 || exit 3
head -c 60000 /dev/zero | tr '\0' x >"$work/text"
jq -nc --rawfile text "$work/text" 'range(64) | {text: "\(.)-\($text)"}' >"$work/data/rows.jsonl"
many=$(printf '{text}%.0s' $(seq 480))
check "one of large requests, too" job rows 1434 rows.jsonl ", request: {path: /v1/chat/completions, template: {messages: [{role: user, content: '$many'}]}}"
[ -z "${SHOW:-}" ] || grep -h '^# [0-9]* MiB' "$work/said"
check "each of them counts once" jq -e '.items.done == 64 and .items.failed == 0' "$work/data/rows/summary.json"
exit $((failures > 0))
