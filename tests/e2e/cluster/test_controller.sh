#!/usr/bin/env bash
# `windlass controller` on a real API server (Kubernetes 1.20 with its garbage collector): jobs and gangs over their
# whole lives, two replicas, kills. There is no kubelet: tests/cluster/kubelet.py writes the status that one would
# write.
#   SOAK_ROUNDS: 100 jobs and 50 kills in the last part, instead of a sample
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=controller
. tests/e2e/cluster/jobs.sh
python3 tests/cluster/kubelet.py "$api" & kubelet=$!

##### start and pages ############################################################################
start=$(milliseconds)
controller first --no-leader-election
check "controller: started and ready" within 60 page "$port" /readyz
echo "# after $(($(milliseconds) - start)) ms; docs/benchmarks.md has the target"
check "controller: /healthz and /readyz" [ "$(page "$port" /healthz) $(page "$port" /readyz)" = "ok leads" ]
odd=$(page "$port" /metrics | grep -vE '^# (HELP|TYPE) [a-z_]+ .+$|^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? ([0-9.e+-]+|\+Inf|NaN)$')
check "controller: every line of /metrics is of Prometheus' format ($odd)" [ -z "$odd" ]
check "controller: leads, says /metrics" [ "$(gauge "$port" windlass_leader)" = 1 ]

##### lives of jobs ##############################################################################
for name in good fail-one oom-one ooms-all evict-one crash-one stuck-one; do job $name; done | "$kubectl" apply -f - >/dev/null
job bad-output nowhere/out | "$kubectl" apply -f - >/dev/null
job good-two | "$kubectl" apply -f - >/dev/null
check "controller: a job succeeds" ends good True Completed
check "controller: its counters are the coordinator's last words" [ "$(field good .status.progress) $(field good .status.miniBatches.done) $(field good .status.summary)" = "8/8 4 data/out/summary.json" ]
check "controller: a job that fails says why" ends fail-one False Failed
check "controller: with the coordinator's sentence" says "no such luck" "$(condition fail-one message)"
check "controller: a worker that ran out of memory once is replaced" ends oom-one True Completed
check "controller: workers that always do end the job" ends ooms-all False OutOfMemory
check "controller: which says what to raise" says "limits.memory" "$(condition ooms-all message)"
check "controller: an evicted worker is replaced" ends evict-one True Completed
check "controller: a coordinator that was killed is replaced" ends crash-one True Completed
is_stuck() { [ "$(condition stuck-one reason)" = ImagePullFailed ]; }
check "controller: an image that cannot be pulled is a state, not an end" within 60 is_stuck
check "controller: a bad job that slipped past the schema fails with a reason" ends bad-output False SpecInvalid
check "controller: and a message that names the field" says "spec.output.path" "$(condition bad-output message)"
check "controller: and the others go on" ends good-two True Completed
# A pipeline whose last step is applied first.
step() { job "$1" "data/$1"; echo "  after: [{name: $2}]"; } # NAME AFTER
{
    step good-three good-second | sed 's#data/in.mp4#$(after.good-second.output)/$(parameters.film)#'
    echo '  parameters: [{name: film, value: in.mp4}]'
    step never fail-one
    step good-a good-b
    step good-b good-a
} | "$kubectl" apply -f - >/dev/null
waits_for() { says "$2" "$(condition "$1" message Waiting)"; }
check "pipeline: a step waits for one that does not exist" within 60 waits_for good-three "good-second does not exist"
check "pipeline: and has not begun" [ -z "$(field good-three .status.startTime)$(field good-three .status.specHash)" ]
{
    step good-second good | sed 's#data/good-second#data/$(parameters.folder)#'
    echo '  parameters: [{name: folder, value: good-second}]'
} | "$kubectl" apply -f - >/dev/null
check "pipeline: it starts when that has succeeded" ends good-three True Completed
check "pipeline: with its output, and its own parameter" [ "$("$kubectl" get pod good-three-coordinator-1 -o json | jq -r '.spec.containers[0].env[] | select(.name == "WINDLASS_SPEC").value | fromjson | .input.video.path')" = data/good-second/in.mp4 ]
check "pipeline: which its status keeps" [ "$(field good-three '.status.after[0].output')" = data/good-second ]
check "pipeline: after a failed step none starts" ends never False AfterFailed
check "pipeline: and says which and why" says "BatchScore fail-one has failed: Failed" "$(condition never message)"
in_circle() { [ "$(condition "$1" reason Stalled)" = AfterCircle ]; }
check "pipeline: two that wait for each other: Stalled says so" within 60 in_circle good-a
check "pipeline: with their names" says "circle: good-a, good-b, good-a" "$(condition good-a message)"
"$kubectl" delete bs good-a good-b >/dev/null
metrics=$(page "$port" /metrics)
check "controller: counts ends by reason" says 'windlass_jobs_finished_total{kind="BatchScore",result="failed",reason="OutOfMemory"} 1' "$metrics"
check "controller: counts pods that failed by class" says 'windlass_pod_failures_total{class="Evicted"} 1' "$metrics"
check "controller: no label has a job's name" [ -z "$(grep -E 'good|evict-one|ooms-all' <<<"$metrics")" ]
for name in gang-good fail-gang oom-gang evict-gang crash-gang; do gang $name; done | "$kubectl" apply -f - >/dev/null
gangs_end() { # like jobs, each in another way
    local kind=dt
    ends gang-good True Completed && ends fail-gang False RankFailed && says "no such luck" "$(condition fail-gang message)" &&
        ends oom-gang True Completed && ends evict-gang True Completed && ends crash-gang True Completed
}
check "controller: gangs come to their ends" gangs_end
check "controller: what the hub said last is in the status" [ "$(kind=dt field gang-good .status.step) $(kind=dt field gang-good .status.attempt) $(kind=dt field crash-gang .status.attempt)" = "8 1 2" ]
gang_keeps_one() { [ "$(count pods gang-good) $(count services gang-good)" = "1 0" ] && "$kubectl" get pod gang-good-0 -o name; }
check "controller: a finished gang keeps its first pod alone" within 60 gang_keeps_one
check "controller: a finished job keeps its coordinator's pod alone" [ "$(count pods good) $(count services good)" = "1 0" ]

##### the commands ###############################################################################
table=$("$windlass" status)
check "status: a row for each job, with a bar" says "[==========] 100%" "$(grep '^good ' <<<"$table")"
"$windlass" status -w >"$work/watch" &
watcher=$!
within 60 grep -q '^good ' "$work/watch"
apply watched
is_watched() { grep -q '^watched .*Completed' "$work/watch"; }
check "status: -w prints every change of a job" within 60 is_watched
check "status: -w prints what did not change once" [ "$(grep -c '^good ' "$work/watch")" = 1 ]
kill "$watcher"
check "status: of one job says what to do" says "next: check spec.image" "$("$windlass" status stuck-one)"
check "status: -w of a job that failed exits with 1" [ "$("$windlass" status fail-one -w >/dev/null 2>&1; echo $?)" = 1 ]
check "status: of a job that does not exist exits with 3" [ "$("$windlass" status missing >/dev/null 2>&1; echo $?)" = 3 ]
check "events: tell that the pod was replaced" says PodReplaced "$("$windlass" events evict-one)"
"$windlass" logs good >"$work/logs"
check "logs: lines of the pod that is left, with its name" grep -qx '\[coordinator-1\] line 3' "$work/logs"
"$windlass" logs gang-good >"$work/logs"
check "logs: of a gang, too" grep -qx '\[0\] line 3' "$work/logs"
check "status: of a gang" says "no such luck" "$("$windlass" status fail-gang)"
apply wait-logs
has_workers() { [ "$("$kubectl" get pods -l windlass.dev/job=wait-logs -o name | wc -l)" -eq 3 ]; }
within 60 has_workers
"$windlass" logs wait-logs -f >"$work/follow" &
follower=$!
sleep 4
"$kubectl" delete bs wait-logs --wait=false >/dev/null
is_over() { ! kill -0 $follower 2>/dev/null; }
check "logs: -f ends when the job is gone" within 60 is_over
wait $follower
check "logs: and ends well" [ $? -eq 0 ]
for pod in coordinator-1 worker-0 worker-1; do
    sed -n "s/^\[$pod\] line //p" "$work/follow" >"$work/numbers"
    check "logs: -f of $pod, whose stream was cut, lost no line and told none twice ($(wc -l <"$work/numbers"))" \
        eval "[ \$(wc -l <'$work/numbers') -gt 10 ] && seq \$(wc -l <'$work/numbers') | cmp -s - '$work/numbers'"
done
ln -s "$windlass" "$work/kubectl-windlass"
check "kubectl windlass: is another name of it" says "Usage: kubectl windlass status" "$(PATH=$work:$PATH "${KUBECTL:-$HOME/.cache/windlass/bin/kubectl}" windlass status --help)"

##### deletion ###################################################################################
"$kubectl" delete bs/good bs/evict-one bs/stuck-one dt/gang-good dt/fail-gang --wait=false >/dev/null
for name in good evict-one stuck-one gang-good fail-gang; do
    check "controller: of a deleted job nothing is left ($name)" within 60 nothing_is_left $name
done

job wait-held | "$kubectl" apply -f - >/dev/null
gang wait-gang | "$kubectl" apply -f - >/dev/null
series() { job "$1" | sed 's|^  workers|  schedule: {cron: "0 0 1 1 *"}\n&|'; }
series series-held | "$kubectl" apply -f - >/dev/null
within 60 "$kubectl" get bs series-held -o name
cat <<YAML | "$kubectl" apply -f - >/dev/null
$(job wait-run | sed "s|^metadata: .*|metadata: {name: wait-run, labels: {windlass.dev/job: series-held}, ownerReferences: [{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, name: series-held, uid: $(field series-held .metadata.uid), controller: true}]}|")
YAML
run_pods() { [ "$(count pods "$1")" -eq 3 ]; }
no_pods() { [ "$(count pods "$1")" -eq 0 ]; }
for name in wait-held wait-gang wait-run; do within 60 run_pods $name || echo "# $name has not its pods"; done
for held in bs/wait-held dt/wait-gang bs/series-held; do
    "$kubectl" patch $held --type merge -p '{"metadata": {"finalizers": ["example.com/held"]}}' >/dev/null
    "$kubectl" delete $held --wait=false >/dev/null
done
for name in wait-held wait-gang wait-run; do
    check "controller: a deleted job that a finalizer of somebody else keeps has no pods ($name)" within 60 no_pods $name
done
check "controller: the finalizers are left alone" [ "$("$kubectl" get bs/wait-held dt/wait-gang bs/series-held -o name | wc -l)" -eq 3 ]
for held in bs/wait-held dt/wait-gang bs/series-held; do "$kubectl" patch $held --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null; done
for name in wait-held wait-gang wait-run; do check "controller: without it nothing is left ($name)" within 60 nothing_is_left $name; done
job wait-orphans | "$kubectl" apply -f - >/dev/null
within 60 run_pods wait-orphans
"$kubectl" delete bs wait-orphans --cascade=orphan >/dev/null
sleep 1
check "controller: --cascade=orphan leaves the pods" run_pods wait-orphans
"$kubectl" delete pods,services -l windlass.dev/job=wait-orphans --wait=false >/dev/null

##### idle #######################################################################################
busy() { cat /proc/"$pid"/task/*/schedstat | awk '{ n += $1 } END { print n }'; } # nanoseconds
before=$(busy)
sleep 5
percent=$(awk -v n=$(($(busy) - before)) 'BEGIN { printf "%.3f", n / 5e9 * 100 }')
check "controller: idle, it takes less than 0.5% of a processor ($percent%)" awk -v p="$percent" 'BEGIN { exit !(p < 0.5) }'
start=$(milliseconds)
kill $pid
wait $pid
code=$?
took=$(($(milliseconds) - start))
check "controller: SIGTERM ends it ($took ms, code $code)" [ $code -eq 0 -a $took -lt 10000 ]

##### an upgrade while a job runs: another default image ##########################################
images() { "$kubectl" get pods -l "windlass.dev/job=$1" -o jsonpath='{.items[*].spec.containers[0].image}' | xargs -n1 | sort -u; }
controller before --no-leader-election --agent-image example.com/agent:before
apply wait-upgrade
three_run() { [ "$("$kubectl" get pods -l "windlass.dev/job=$1" -o jsonpath='{.items[*].status.phase}')" = "Running Running Running" ]; }
check "upgrade: a job starts with the controller's default image" within 60 three_run wait-upgrade
kill $pid
wait $pid
controller after --no-leader-election --agent-image example.com/agent:after
for pod in wait-upgrade-worker-0 wait-upgrade-coordinator-1; do
    "$api/curl" /api/v1/namespaces/$namespace/pods/$pod/status -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d '{"status": {"phase": "Failed", "reason": "Evicted", "containerStatuses": [{"name": "agent", "image": "a", "imageID": "a",
            "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 137}}}]}}' >/dev/null # its node says that it ended
done
second_attempts() { "$kubectl" get pod wait-upgrade-worker-0-2 wait-upgrade-coordinator-2 -o name; }
check "upgrade: pods that were lost are made anew by the next controller" within 60 second_attempts
check "upgrade: with the image that the job was started with" [ "$(images wait-upgrade)" = example.com/agent:before ]
apply wait-new
check "upgrade: a job that begins now" within 60 three_run wait-new
check "upgrade: gets the new default" [ "$(images wait-new)" = example.com/agent:after ]
kill $pid
wait $pid
"$kubectl" delete bs wait-upgrade wait-new --wait=false >/dev/null

##### two replicas ###############################################################################
controller one
one=$pid one_port=$port
is_leading() { [ "$(page "$1" /readyz)" = leads ]; }
within 60 is_leading "$one_port"
controller two
two=$pid two_port=$port
within 60 page "$two_port" /readyz
check "replicas: the second stands by, and is ready" [ "$(page "$two_port" /readyz)" = "stands by" ]
check "replicas: the one that stands by asks for no jobs" [ "$(gauge "$two_port" 'windlass_apiserver_requests_total{verb="list",code="200"}')" = "" ]
apply wait-there
within 60 eval '[ -n "$("$kubectl" get pods -o name)" ]'
kill -9 "$one"
wait "$one" 2>/dev/null
start=$(milliseconds)
apply after-kill
check "replicas: after kill -9 the other leads" within 30 is_leading "$two_port"
echo "# took over after $(($(milliseconds) - start)) ms"
check "replicas: and runs the jobs" ends after-kill True Completed
controller three
three=$pid three_port=$port
sleep 1.5
kill "$two"
start=$(milliseconds)
check "replicas: after SIGTERM the other leads, before the lease has ended" within 10 is_leading "$three_port"
echo "# took over after $(($(milliseconds) - start)) ms"
wait "$two"
check "replicas: and the one that stopped ended well" [ $? -eq 0 ]
"$kubectl" delete lease windlass-controller >/dev/null
"$kubectl" create -f - >/dev/null <<YAML
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: windlass-controller, namespace: $namespace}
spec: {holderIdentity: somebody-else, leaseDurationSeconds: 10, leaseTransitions: 9}
YAML
within 60 eval "! kill -0 $three 2>/dev/null"
wait "$three"
code=$?
check "replicas: who finds another holder ends with 3 ($code)" [ $code -eq 3 ]
"$kubectl" delete lease windlass-controller >/dev/null
"$kubectl" delete bs,dt --all --wait=false >/dev/null

##### killed at random moments ###################################################################
# Every second one is a gang.
rounds=4 jobs=10
[ -z "${SOAK_ROUNDS:-}" ] || { rounds=50 jobs=100; }
RANDOM=${SOAK_SEED:-7}
kinds=(good fail- oom- evict- crash-)
: >"$work/kill.yaml"
for i in $(seq $jobs); do
    if [ $((i % 2)) = 0 ]; then job "${kinds[i % 5]}$i"; else gang "${kinds[i % 5]}$i"; fi
done >"$work/kill.yaml"
controller killed --no-leader-election
"$kubectl" apply -f "$work/kill.yaml" >/dev/null &
creating=$!
for _ in $(seq $rounds); do
    sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    controller killed --no-leader-election
done
wait $creating
wrong=''
for i in $(seq $jobs); do
    name=${kinds[i % 5]}$i
    wanted="True Completed" kind=bs
    [ "${kinds[i % 5]}" = fail- ] && wanted="False Failed"
    if [ $((i % 2)) = 1 ]; then kind=dt wanted=${wanted/False Failed/False RankFailed}; fi
    # shellcheck disable=SC2086 # two words
    ends "$name" $wanted || wrong="$wrong $name"
done
unset kind
check "kills: $jobs jobs end right though the controller was killed $rounds times ($wrong)" [ -z "$wrong" ]
check "kills: no role had two pods, no pod was made twice ($(cat "$api/violations" 2>/dev/null))" [ ! -s "$api/violations" ]
# For crash-* the first coordinator's pod remains beside the second.
coordinators_are_left() { [ -z "$("$kubectl" get pods -l windlass.dev/role=worker -o name)" ] && [ "$("$kubectl" get pods -l windlass.dev/attempt=1 -o name | wc -l)" -le $jobs ]; }
check "kills: no worker is left" within 60 coordinators_are_left
# If a gang succeeded its first pod remains; if it failed, all pods that ended.
members_are_over() { [ -z "$("$kubectl" get pods -l windlass.dev/role=member --field-selector=status.phase!=Succeeded,status.phase!=Failed -o name)" ]; }
check "kills: no member of a gang runs" within 60 members_are_over
"$kubectl" delete bs,dt --all --wait=false >/dev/null
all_is_gone() { [ "$(count pods) $(count services) $("$kubectl" get secrets -o name | grep -vc default-token)" = "0 0 0" ]; }
check "kills: when the jobs are deleted nothing is left" within 90 all_is_gone
kill "$pid" "$kubelet"
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $failures
