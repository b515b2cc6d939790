#!/usr/bin/env bash
# The API server (Kubernetes 1.20) restarts under a controller: while it starts it may not know our kinds. Sweeps whose
# trials run neither end nor make others, and new jobs begin.
#   SOAK_ROUNDS: three times
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
sweep() { # NAME TRIALS AT-ONCE
    "$api/kubectl" apply -f - >/dev/null <<YAML
apiVersion: windlass.dev/v1beta1
kind: Sweep
metadata: {name: $1}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: X, uniform: {min: 0.25, max: 0.75}}]
  algorithm: {kind: Random}
  maxTrials: $2
  maxConcurrentTrials: $3
  trial: {workers: 1, image: i, launcher: None, command: [x, \$(X)]}
YAML
}
trials() { "$kubectl" get disttrains -l "windlass.dev/job=$1" -o name 2>/dev/null | wc -l; }
has_trials() { [ "$(trials "$1")" -eq "$2" ]; }
ended() { "$kubectl" get sweep "$1" -o jsonpath='{.status.conditions[?(@.type=="Succeeded")].status}'; }
next_is() { [ "$("$kubectl" get sweep "$1" -o jsonpath='{.status.next}')" = "$2" ]; }
has_pods() { [ "$("$kubectl" get pods -l "windlass.dev/job=$1" -o name 2>/dev/null | wc -l)" -eq 3 ]; }
# How many requests were answered with 404.
missing() { page "$port" /metrics | awk '/^windlass_apiserver_requests_total/ && /code="404"/ { n += $2 } END { print n + 0 }'; }
controller restarts --no-leader-election
sweep all 2 2
sweep some 6 3
check "two sweeps have their first trials" within 60 next_is all 2
check "(of the second, three of six)" within 60 next_is some 3
drawn() { # the server keeps plain numbers, and trials have values between them
    [ "$("$api/kubectl" get sweep all -o jsonpath='{.spec.parameters[0].uniform.min}')" = 0.25 ] &&
        [ "$("$api/kubectl" get disttrains -l windlass.dev/job=all -o json | jq '[.items[].spec.command[1] | tonumber | select(. >= 0.25 and . <= 0.75)] | length')" = 2 ]
}
check "bounds that are plain numbers" drawn
for round in 1 ${SOAK_ROUNDS:+2 3}; do
    before=$(missing)
    tests/cluster/api-server.sh restart "$api" >"$work/restart.log" 2>&1 || { cat "$work/restart.log"; exit 3; }
    job "round-$round" | "$api/kubectl" apply -f - >/dev/null
    check "restart $round: a new job has its pods" within 120 has_pods "round-$round"
    sleep 3
    echo "# restart $round: $(($(missing) - before)) requests were answered with 404"
    check "restart $round: all trials of the one run, and it has not ended" [ "$(trials all) $(ended all)" = "2 Unknown" ]
    check "restart $round: the other has made no trial beside those that run" [ "$(trials some) $(ended some)" = "3 Unknown" ]
done
check "the controller has not restarted" kill -0 "$pid"
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $failures
