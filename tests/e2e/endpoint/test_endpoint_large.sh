#!/usr/bin/env bash
# scorer.endpoint by `windlass run`: 64 requests in flight at a server that gives each an answer of 10 MiB, all at the same
# time: each counts once, and no process of the job takes more than 1.4 GiB (without a share of the memory: 2.4 GiB).
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
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: large}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {url: 'http://127.0.0.1:$port', concurrency: 64}}
  output: {path: data/large, mode: SummaryOnly}
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
job() {
    timeout -k 5 ${LIMIT:-300} python3 tests/e2e/security/hostile_files.py run 1434 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/said" 2>&1 </dev/null && return 0
    tail -qn 5 "$work/said" "$work/state"/*.log | cut -c1-300 | sed 's/^/# /'
    return 1
}
check "the job succeeds, and its processes stay small" job
[ -z "${SHOW:-}" ] || grep -h '^# [0-9]* MiB' "$work/said"
[ -z "${SHOW:-}" ] || jq -c .requests "$work/data/large/summary.json"
check "each request counts once" jq -e '.items.done == 64 and .items.failed == 0 and .requests.refused == 0' "$work/data/large/summary.json"
exit $((failures > 0))
