#!/usr/bin/env bash
# scorer.endpoint by `windlass run` with a model server that attacks who asks it (hostile_server.py): headers, bodies, chunks and
# trailers without end, answers that are packed, redirections. Each request ends as a failed item with its cause, no process
# of the job takes more than 256 MiB, and the requests that are answered well between them are in the output.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
trap 'stop_servers; rm -rf "$work"' EXIT
mkdir -p "$work/data"
mapfile -t names < <(python3 tests/e2e/endpoint/hostile_server.py names)
python3 tests/e2e/endpoint/hostile_server.py >"$work/port" 2>"$work/server.log" &
servers+=($!)
until_true 60 test -s "$work/port" || exit 3
for name in "${names[@]}"; do
    echo "{\"custom_id\": \"$name\", \"method\": \"POST\", \"url\": \"/$name\", \"body\": {}}"
    echo "{\"custom_id\": \"after-$name\", \"method\": \"POST\", \"url\": \"/well\", \"body\": {}}"
done >"$work/data/requests.jsonl"
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: hostile}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {url: 'http://127.0.0.1:$(cat "$work/port")', concurrency: 4, tries: 1, timeoutSeconds: ${TIMEOUT:-20}}}
  output: {path: data/answers, mode: AppendRow, appendRowFileName: output.jsonl}
  errorThreshold: -1
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
job() {
    timeout -k 5 "${LIMIT:-300}" python3 tests/e2e/security/hostile_files.py run 256 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/said" 2>&1 </dev/null && return 0
    tail -qn 5 "$work/said" "$work/state"/*.log "$work/server.log" | cut -c1-300 | sed 's/^/# /'
    return 1
}
check "the job ends by itself, and its processes stay small" job
[ -z "${SHOW:-}" ] || { grep -h '^# [0-9]* MiB' "$work/said"; jq -r '"# \(.custom_id): \(.error // .response.status_code | tostring)"' "$work/data/answers/errors.jsonl" | cut -c1-250; }
# (Lists are JSON, and so an answer; a length that is no number of 64 bits counts as none.)
wanted() { printf '%s\n' "${names[@]/#/after-}" well lists length-beyond | sort; }
answered() { diff <(wanted) <(jq -r .custom_id "$work/data/answers/output.jsonl" | sort) | sed 's/^/# /' | tee "$work/differences"; [ ! -s "$work/differences" ]; }
check "what is answered well is in the output" answered
failed() { [ "$(jq -r 'select(.error) | .custom_id' "$work/data/answers/errors.jsonl" | sort)" = "$(printf '%s\n' "${names[@]}" | grep -vxE 'well|lists|length-beyond' | sort)" ]; }
check "each attack is a failed item" failed
says() { jq -r --arg name "$1" 'select(.custom_id == $name) | .error | tostring' "$work/data/answers/errors.jsonl" | grep -q "$2"; }
check "with its cause: trailers without end" says endless-trailers "more than 256 KiB of headers"
check "and what was packed for the transfer" says packed-transfer "Transfer-Encoding other than chunked"
exit $((failures > 0))
