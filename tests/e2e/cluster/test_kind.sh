#!/usr/bin/env bash
# A fourth kind (tests/kinds/toy: one folder and one row) in a separate windlass: check, explain and run know it, and on
# a real API server the controller and status do. The test ends a pod that would print, as there is no kubelet.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
manager=later . tests/e2e/cluster/jobs.sh
windlass=$(realpath "${BUILD:-build}")/windlass-toy
cat >"$work/toy.yaml" <<'YAML'
apiVersion: windlass.dev/v1alpha1
kind: Toy
metadata: {name: tin}
spec: {text: hello there}
YAML
sed 's/hello there/nothing/' "$work/toy.yaml" >"$work/rule.yaml"
sed 's/text:/txet:/' "$work/toy.yaml" >"$work/field.yaml"

##### this machine ###############################################################################
check "check: takes the kind" says "Toy tin is OK" "$("$windlass" check -f "$work/toy.yaml")"
check "check: fills its defaults in" says '"image": "registry.test/toy:1"' "$("$windlass" check -f "$work/toy.yaml" --show)"
check "check: shows its pods" says '"name": "tin-toy"' "$("$windlass" check -f "$work/toy.yaml" --pods)"
check "check: knows its rules" says 'rule.yaml:4: spec.text: must not be "nothing"' "$("$windlass" check -f "$work/rule.yaml" 2>&1)"
check "check: knows its fields" says 'spec.txet: unknown field; spec has: text' "$("$windlass" check -f "$work/field.yaml" 2>&1)"
sed 's/Toy/Tyo/' "$work/toy.yaml" >"$work/kind.yaml"
check "check: names it among the kinds" says "windlass.dev/v1alpha1 Toy" "$("$windlass" check -f "$work/kind.yaml" 2>&1)"
check "explain: describes its fields" says "What the pod prints" "$("$windlass" explain)"
check "help: of run, check and controller name it" eval \
    'says "Toy: prints its text." "$("$windlass" run --help)" && says "for a Toy its pod" "$("$windlass" check --help)" &&
     says "Sweeps and Toys" "$("$windlass" controller --help)"'
"$windlass" run -f "$work/toy.yaml" --state "$work/state" >"$work/out" 2>"$work/err"
code=$?
check "run: carries it out (code $code)" [ "$code" = 0 ]
check "run: says how it ended" says ": the text is printed" "$(grep '^tin succeeded in' "$work/out")"
check "run: its pod ran" grep -qx 'hello there' "$work/state/tin-toy.log"
"$windlass" run -f "$work/toy.yaml" --once >"$work/out" 2>"$work/err"
check "run: refuses what the kind does not have (code $?)" says "--once is for a BatchScore; $work/toy.yaml is a Toy" "$(cat "$work/err")"
check "the windlass of three kinds does not know it" says "unknown windlass.dev/v1alpha1 Toy" "$("${BUILD:-build}/windlass" check -f "$work/toy.yaml" 2>&1)"

##### a cluster ##################################################################################
"$kubectl" apply --validate=false -f tests/kinds/toy/toy.yaml >/dev/null
established "$kubectl" crd/toys.windlass.dev
start_manager
controller toys --no-leader-election
"$kubectl" apply -f "$work/toy.yaml" >/dev/null
check "controller: makes its pod" within 60 "$kubectl" get pod tin-toy -o name
check "controller: which the job owns" [ "$("$kubectl" get pod tin-toy -o 'jsonpath={.metadata.ownerReferences[0].kind}')" = Toy ]
kind=toy
is_pending() { [ "$(condition tin reason)" = Pending ]; }
check "controller: writes its status" within 60 is_pending
row() { "$windlass" status | grep '^tin '; }
check "status: lists it" says Pending "$(row)"
check "status: with DONE from its status" says "0/1" "$(row)"
check "status: shows one, with its pod" says tin-toy "$("$windlass" status tin -n default)"
end='{"status": {"phase": "Succeeded", "containerStatuses": [{"name": "agent", "ready": false, "restartCount": 0, "image": "i",
    "imageID": "", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}}'
curl -sf --cacert "$api/pki/ca.crt" -H "Authorization: Bearer $(cat "$api/token")" -X PATCH \
    -H 'Content-Type: application/merge-patch+json' -d "$end" \
    "https://127.0.0.1:$(cat "$api/port")/api/v1/namespaces/default/pods/tin-toy/status" >/dev/null
check "controller: ends it with its pod" ends tin True Completed
check "status: says that it has ended" says "1/1" "$(row)"
check "status: -w follows it to its end" eval '"$windlass" status tin -n default -w >/dev/null 2>&1'
check "status: -o html is for others" says "-o html is for a Sweep; tin is a Toy" "$("$windlass" status tin -n default -o html 2>&1)"
check "events: finds it" says "no events of tin" "$("$windlass" events tin 2>&1)"
check "metrics: count it" says 'windlass_jobs_finished_total{kind="Toy",result="succeeded",reason="Completed"} 1' "$(page "$port" /metrics)"
exit $((failures > 0))
