#!/usr/bin/env bash
# --log-format=json of controller and agent: each line is one object with time, level and message, and no line in either
# format has a secret. The API server is one that is not there.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
secret=kwIlJ3hTsecretZq91
cat >"$work/kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: me, user: {token: $secret}}]
contexts: [{name: none, context: {cluster: none, user: me}}]
current-context: none
CONFIG
controller() { # FORMAT: runs it until it has logged the error
    "$build/windlass" controller --kubeconfig "$work/kubeconfig" --no-leader-election --listen 127.0.0.1:0 \
        --log-level debug --log-format "$1" 2>"$work/$1" &
    local pid=$! end=$((SECONDS + 60))
    until grep -qs "cannot watch the cluster" "$work/$1" || [ $SECONDS -ge $end ]; do nap 0.1; done
    kill -TERM $pid
    wait $pid
}
controller json
controller text
whole='type == "object" and (.time | test("^[0-9-]{10}T[0-9:]{8}[.][0-9]{3}Z$")) and
    (.level | IN("error", "warning", "info", "debug")) and (.message | length > 0)'
is_json() { [ "$(wc -l <"$1")" -gt 0 ] && [ "$(jq -c "select($whole)" "$1" | wc -l)" = "$(wc -l <"$1")" ]; }
check "the controller logs objects" is_json "$work/json"
has_values() { jq -se 'any(.[]; .message == "cannot watch the cluster" and (.error | test("127.0.0.1")))' "$work/json" >/dev/null; }
check "with values as members" has_values
check "text is the default's form" grep -qE '^[0-9TZ:-]{20} INFO "?windlass controller starts' "$work/text"
check "no line shows the token" sh -c "! grep -q $secret '$work/json' '$work/text'"

# A coordinator whose volume is missing, with no place for its last message: it logs both.
make_certificate "$work"
spec='{"errorThreshold":0,"input":{"table":{"format":"CSV","header":true,"path":"data/rows","pattern":"*.csv"}},
    "miniBatchBytes":10485760,"miniBatchErrorThreshold":-1,"retry":{"maxTries":3,"timeoutSeconds":60},
    "output":{"appendRowFileName":"rows.txt","mode":"AppendRow","path":"data/out"},"scorer":{"command":{
    "command":["cat"],"initTimeoutSeconds":600,"processesPerWorker":1}}}'
WINDLASS_JOB=mine WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$spec" WINDLASS_WORKER=mine-0 \
    WINDLASS_TOKEN=$secret WINDLASS_UID=u WINDLASS_BIND=127.0.0.1:0 WINDLASS_LOG_FORMAT=json \
    WINDLASS_TERMINATION_LOG=/nonexistent/message WINDLASS_TLS_CERTIFICATE=$(cat "$work/certificate.pem") \
    WINDLASS_TLS_KEY=$(cat "$work/key.pem") timeout 60 "$build/windlass-agent" coordinate 2>"$work/agent"
grep '^{' "$work/agent" >"$work/agent.json"
check "the agent logs objects, with the job's name" sh -c "jq -se 'length > 0 and all(.[]; .name == \"mine\" and .level != null)' '$work/agent.json' >/dev/null"
check "the agent shows no token and no key" sh -c "! grep -qE '$secret|PRIVATE KEY' '$work/agent'"
refused() { "$build/$1" "${@:2}" 2>"$work/refused"; [ $? = 2 ] && grep -q 'expected text or json' "$work/refused"; }
check "another word is refused by the controller" refused windlass controller --log-format xml
check "another word is refused by the agent" refused windlass-agent --log-format=xml score
exit $((failures > 0))
