#!/usr/bin/env bash
# scorer.endpoint by `windlass run` with a model server that attacks who asks it (hostile_server.py): headers, bodies, chunks and
# trailers without end, answers that are packed, redirections. Each request ends as a failed item with its cause, no process
# of the job takes more than 256 MiB, and the requests that are answered well between them are in the output. The same by
# HTTP/2 (hostile_h2.py): frames, blocks of headers and streams.
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
make_certificate "$work" && openssl req -x509 -key "$work/key.pem" -days 2 -subj /CN=test -addext 'subjectAltName = IP:127.0.0.1' \
    -out "$work/certificate.pem" 2>/dev/null || exit 3
python3 tests/e2e/endpoint/hostile_h2.py "$work/certificate.pem" "$work/key.pem" >"$work/port2" 2>"$work/server2.log" &
servers+=($!)
until_true 60 test -s "$work/port" && until_true 60 test -s "$work/port2" || exit 3
first="url: 'http://127.0.0.1:$(cat "$work/port")', concurrency: 4"
second="url: 'https://127.0.0.1:$(cat "$work/port2")', authority: $(jq -Rs . "$work/certificate.pem")"
# job NAME SECONDS [ENDPOINT]: scores data/NAME.jsonl; a request may take so long. ENDPOINT: its fields but the time.
job() {
    out=$work/data/$1
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {table: {path: data/$1.jsonl, format: JSONLines}}
  scorer: {endpoint: {${3:-$first}, tries: 1, timeoutSeconds: $2}}
  output: {path: data/$1, mode: AppendRow, appendRowFileName: output.jsonl}
  errorThreshold: -1
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout -k 5 "${LIMIT:-300}" python3 tests/e2e/security/hostile_files.py run 256 "$windlass" run -f "$work/$1.yaml" --state "$work/state" >"$work/said" 2>&1 </dev/null || {
        tail -qn 5 "$work/said" "$work/state"/*.log "$work/server.log" | cut -c1-300 | sed 's/^/# /'
        return 1
    }
    [ -z "${SHOW:-}" ] || { grep -h '^# [0-9]* MiB' "$work/said"; jq -r '"# \(.custom_id): \(.error // .response.status_code | tostring)"' "$out/errors.jsonl" | cut -c1-250; }
}
request() { echo "{\"custom_id\": \"$1\", \"method\": \"POST\", \"url\": \"/$2\", \"body\": {}}"; }
# Those that only a limit of time ends.
slow=(endless-error endless-chunk-name slow-header slow-body)
others=()
for name in "${names[@]}"; do
    [[ " ${slow[*]} " == *" $name "* ]] || others+=("$name")
done
for name in "${others[@]}"; do request "$name" "$name"; request "after-$name" well; done >"$work/data/others.jsonl"
check "the job ends by itself, and its processes stay small" job others 60
# (Lists are JSON, and so an answer; a length beyond 64 bits counts as none.)
answered() { diff <(printf '%s\n' "$@" | sort) <(jq -r .custom_id "$out/output.jsonl" | sort) | sed 's/^/# /' | tee "$work/differences"; [ ! -s "$work/differences" ]; }
check "what is answered well is in the output" answered "${others[@]/#/after-}" well lists length-beyond
failed() { [ "$(jq -r 'select(.error) | .custom_id' "$out/errors.jsonl" | sort)" = "$(printf '%s\n' "$@" | grep -vxE 'well|lists|length-beyond' | sort)" ]; }
check "each attack is a failed item" failed "${others[@]}"
says() { jq -r --arg name "$1" 'select(.custom_id == $name) | .error | tostring' "$out/errors.jsonl" | grep -q "$2"; }
check "with its cause: trailers without end" says endless-trailers "more than 256 KiB of headers"
check "and what was packed for the transfer" says packed-transfer "Transfer-Encoding other than chunked"
for name in "${slow[@]}"; do request "$name" "$name"; done >"$work/data/slow.jsonl"
check "answers without an end end after their time" job slow 3
check "each as a failed item" failed "${slow[@]}"
check "a byte a second ends by the time" says slow-body "timed out"
# By HTTP/2. One at a time, since what breaks a connection ends all that it has.
mapfile -t names2 < <(python3 tests/e2e/endpoint/hostile_h2.py names)
mapfile -t slow2 < <(python3 tests/e2e/endpoint/hostile_h2.py slow)
request2() { jq -cn --arg name "$1" --arg attack "$2" '{custom_id: $name, method: "POST", url: "/", body: {$attack}}'; }
for name in "${names2[@]}"; do request2 "$name" "$name"; request2 "after-$name" well; done >"$work/data/frames.jsonl"
check "the same by HTTP/2" job frames 60 "$second, concurrency: 1"
check "what is answered well there is in the output" answered "${names2[@]/#/after-}"
check "each attack by frames is a failed item" failed "${names2[@]}"
for name in "${slow2[@]}"; do request2 "$name" "$name"; done >"$work/data/frames-slow.jsonl"
check "frames without an end end after their time" job frames-slow 3 "$second, concurrency: 16"
check "each as a failed item, too" failed "${slow2[@]}"
exit $((failures > 0))
