#!/usr/bin/env bash
# What a real API server (Kubernetes 1.20) refuses or drops, and that the controller says so once, without a
# storm of requests: a definition that is older than the program, quotas, webhooks that hang, wrong templates.
set -u
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/jobs.sh
stalled() { field "$1" '.status.conditions[?(@.type=="Stalled")].reason'; }
# requests PORT VERB [CODE]: how many of them there were.
requests() { page "$1" /metrics | awk -v verb="verb=\"$2\"" -v code="${3:+code=\"$3\"}" 'index($0, "windlass_apiserver_requests_total{" verb) && index($0, code) { n += $2 } END { print n + 0 }'; }

##### a definition that is older than the controller #############################################
without() { # FIELD: crds/batchscore.yaml without it in the status
    "$kubectl" get crd batchscores.windlass.dev -o json |
        jq "del(.metadata, .status) | .metadata.name = \"batchscores.windlass.dev\" |
            del(.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.$1)" >"$work/old.json"
    "$kubectl" replace --validate=false -f "$work/old.json" >/dev/null
}
now_defined() { "$kubectl" apply --validate=false -f crds/batchscore.yaml >/dev/null 2>&1; }
# So long until the API server goes by the definition: it drops the field, or does not.
dropped() { # FIELD: of a status that is written to the job probe
    "$api/curl" /apis/windlass.dev/v1alpha1/namespaces/default/batchscores/probe/status -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d '{"status": {"agentImage": "i", "credentials": {"secret": "s"}}}' |
        jq -e ".status.$1 == null"
}
kept() { ! dropped "$1"; }
controller_is_outdated() { # FIELD
    apply probe
    "$kubectl" patch bs probe --type merge -p '{"spec":{"suspend":true}}' >/dev/null
    without "$1"
    within 20 dropped "$1" || echo "# the API server keeps $1"
    "$kubectl" delete bs probe >/dev/null
    controller "without-$1" --no-leader-election
    apply "without-${1,,}"
    is_told() { [ "$(stalled "without-${1,,}")" = CRDOutdated ]; }
    check "definition without status.$1: Stalled says CRDOutdated" within 10 is_told "$1"
    check "definition without status.$1: and names field and remedy" \
        grep -q "drops status.$1;.*crds.install=true.*kubectl apply --server-side -f crds/batchscore.yaml" <<<"$(condition "without-${1,,}" message)"
    check "definition without status.$1: State is CRDOutdated" [ "$(condition "without-${1,,}" reason)" = CRDOutdated ]
    sleep 0.5
    before=$(requests "$port" patch)/$(requests "$port" create)
    sleep 4
    after=$(requests "$port" patch)/$(requests "$port" create)
    check "definition without status.$1: it asks for nothing in 4 s (patch/create: $before, then $after)" [ "$before" = "$after" ]
    check "definition without status.$1: no pod is made" [ "$(count pods)" -eq 0 ]
    events=$("$kubectl" get events.events.k8s.io -o jsonpath="{range .items[?(@.regarding.name=='without-${1,,}')]}{.reason} {end}")
    check "definition without status.$1: one event ($events)" [ "$events" = "CRDOutdated " ]
    kill "$pid"
    wait "$pid"
    # What an upgrade of the chart does: the definition, and another controller.
    now_defined
    apply probe
    "$kubectl" patch bs probe --type merge -p '{"spec":{"suspend":true}}' >/dev/null
    within 20 kept "$1" || echo "# the API server drops $1"
    "$kubectl" delete bs probe >/dev/null
    controller "with-$1" --no-leader-election
    has_pods() { [ "$(count pods "without-${1,,}")" -eq 3 ] && [ "$(stalled "without-${1,,}")" = NotStalled ]; }
    check "definition with status.$1: the job goes on" within 20 has_pods "$1"
    kill "$pid"
    wait "$pid"
    "$kubectl" delete bs "without-${1,,}" --wait=false >/dev/null
    "$kubectl" delete pods --all --force --grace-period=0 >/dev/null 2>&1
}
controller_is_outdated credentials
controller_is_outdated agentImage
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $failures
