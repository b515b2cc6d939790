#!/usr/bin/env bash
# charts/windlass with a real helm: rendered for Kubernetes 1.20 and 1.36, its values refused or taken,
# its roles compared with tests/data/chart, its pods with Pod Security; then installed on a real
# kube-apiserver 1.20 (no kubelet: nothing runs), upgraded from an older chart with a job there, and
# uninstalled; its CRD as rendered for 1.36 on the real CRD server of 1.36, with the CEL rules. `make test` draws some of
# the values that are refused, and one of four ways to upgrade.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-yaml) || exit 3
bin=$(tests/cluster/get-clients.sh) || exit 3
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/old"; tests/cluster/crd-server.sh stop "$folder/new"; rm -rf "$folder"' EXIT
# helm keeps caches in the home folder, and reads plug-ins from there.
export HELM_CACHE_HOME=$folder/helm HELM_CONFIG_HOME=$folder/helm HELM_DATA_HOME=$folder/helm
chart=charts/windlass
registry=image.registry=registry.test:5000/windlass
helm() { "$bin/helm" "$@"; }
render() { helm template windlass $chart --namespace windlass --set "$registry" "$@"; }
objects() { python3 -c 'import json, sys, yaml
json.dump([o for o in yaml.load_all(sys.stdin, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o], sys.stdout)'; }
# The old server's client knows nothing of policy/v1; the chart goes by both, version and list.
render --kube-version 1.20 | objects >"$folder/1.20.json"
render --kube-version 1.36 | objects >"$folder/1.36.json"
render --kube-version 1.36 --set scope=Namespace | objects >"$folder/namespace.json"
everything=(--api-versions monitoring.coreos.com/v1 --set networkPolicy.limitEgress=true
    --set serviceMonitor.enabled=true --set prometheusRule.enabled=true --set prometheusRule.runbooks=https://runbooks.test/ --set dashboard.enabled=true --set priorityClassName=system-cluster-critical
    --set 'extraArgs={--no-leader-election}' --set podAnnotations.a=b --set podLabels.c=d
    --set commonLabels.team=blue --set nodeSelector.pool=cpu --set 'tolerations[0].operator=Exists'
    --set agent.image=registry.test/agent:2 --set trainer.image=registry.test/trainer:3 --set trainer.gpuImage=registry.test/trainer-cuda:4 --set 'imagePullSecrets[0].name=key'
    --set 'networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus'
    --set-json 'jobPolicy={"hostPath":false,"images":["registry.test/team/*"],"secrets":[]}'
    --set-json 'affinity={"nodeAffinity":{}}' --set serviceAccount.annotations.e=f
    --set-json 'topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]')
render "${everything[@]}" --kube-version 1.20 | objects >"$folder/everything.json"

##### rendered ###################################################################################
lint_clean() { helm lint --strict $chart --set "$registry" >"$folder/lint" || { sed 's/^/# /' "$folder/lint"; return 1; }; }
check "helm lint --strict" lint_clean
# FILE FILTER: jq's filter is true.
says() { jq -e "$2" "$folder/$1" >/dev/null || { echo "# $1: not so: $2"; return 1; }; }
refused() { # SETTING SENTENCE
    if render --set "$1" >/dev/null 2>"$folder/answer"; then echo "# taken"; return 1; fi
    grep -qF -- "$2" "$folder/answer" || { sed 's/^/# /' "$folder/answer"; return 1; }
}
mapfile -t bad < <(grep -v '^#' tests/data/chart/bad-values.txt)
draw "values that are refused" 8 "${!bad[@]}" # (each is a start of helm: half a second of a processor)
for at in "${drawn[@]}"; do check "refused: ${bad[at]%%|*}" refused "${bad[at]%%|*}" "${bad[at]#*|}"; done
older_values() { render --set networkPolicy.enabled=false --kube-version 1.36 | objects | cmp - "$folder/1.36.json"; }
check "networkPolicy.enabled=false of an older chart's values changes nothing" older_values
pods='[.[] | select(.kind == "Deployment") | .spec.template.spec]'
check "two replicas, image, agent and trainer from image.registry" says 1.36.json \
    '.[] | select(.kind == "Deployment") | .spec.replicas == 2 and
     .spec.template.spec.containers[0].image == "registry.test:5000/windlass/windlass-operator:0.1.0" and
     (.spec.template.spec.containers[0].args | contains(["--agent-image=registry.test:5000/windlass/windlass-agent:0.1.0",
         "--trainer-image=registry.test:5000/windlass/windlass-trainer:0.1.0",
         "--trainer-gpu-image=registry.test:5000/windlass/windlass-trainer-cuda:0.1.0"]))'
check "alerts with the address of their runbooks" says everything.json '.[] | select(.kind == "PrometheusRule") |
    [.spec.groups[].rules[]] | length >= 8 and all(.annotations.runbook_url | startswith("https://runbooks.test/#windlass"))'
check "the dashboard as Grafana's sidecar wants it" says everything.json '.[] | select(.kind == "ConfigMap" and .metadata.labels.grafana_dashboard == "1") |
    .data["windlass.json"] | fromjson | .panels | length > 10'
check "neither by default" says 1.36.json 'all(.kind != "PrometheusRule" and .kind != "ConfigMap")'
check "user 65532, read-only root, probes" says 1.36.json "$pods"' | .[0] | .securityContext.runAsUser == 65532 and
    (.containers[0] | .securityContext.readOnlyRootFilesystem and .livenessProbe.httpGet.path == "/healthz" and
     .readinessProbe.httpGet.path == "/readyz" and .ports[0].containerPort == 8080)'
check "every option is rendered" says everything.json '
    ([.[].kind] | contains(["NetworkPolicy", "ServiceMonitor", "Service", "PodDisruptionBudget"])) and
    all(.[]; .metadata.labels.team == "blue") and
    ('"$pods"' | .[0] | .priorityClassName == "system-cluster-critical" and .nodeSelector.pool == "cpu" and
     .topologySpreadConstraints[0].topologyKey == "zone" and (.affinity | has("nodeAffinity")) and
     .tolerations[0].operator == "Exists" and .imagePullSecrets[0].name == "key" and
     (.containers[0].args | contains(["--agent-image=registry.test/agent:2", "--trainer-image=registry.test/trainer:3", "--trainer-gpu-image=registry.test/trainer-cuda:4", "--no-leader-election"])))'
# Prometheus connects to addresses of pods, so it needs the name that the certificate has.
monitored() { # FILE SETTING... : the ServiceMonitor's endpoint with secure metrics
    local file=$1
    shift
    render --api-versions monitoring.coreos.com/v1 --set serviceMonitor.enabled=true --set metrics.secure=true "$@" | objects >"$folder/$file"
}
check "a certificate of each replica's own cannot be checked" eval 'monitored own.json && says own.json "
    [.[] | select(.kind == \"ServiceMonitor\")][0].spec.endpoints[0].tlsConfig == {insecureSkipVerify: true}"'
check "one that is given is checked, with its name and authority" eval 'monitored given.json --set metrics.certificateSecret=tls \
    --set metrics.certificateName=metrics.test --set metrics.certificateAuthority=ca && says given.json "
    [.[] | select(.kind == \"ServiceMonitor\")][0].spec.endpoints[0].tlsConfig ==
        {serverName: \"metrics.test\", ca: {secret: {name: \"ca\", key: \"ca.crt\"}}}"'
# A list that is empty allows nothing: it must not be left out.
given_policy() { jq -r '.[] | select(.kind == "Deployment") | .spec.template.spec.containers[0].args[] | select(startswith("--job-policy=")) | ltrimstr("--job-policy=")' "$folder/$1"; }
check "jobPolicy goes to the controller whole" [ "$(given_policy everything.json | jq -cS .)" = '{"hostPath":false,"images":["registry.test/team/*"],"secrets":[]}' ]
check "and none by default" [ -z "$(given_policy 1.36.json)" ]
check "a PodDisruptionBudget of the server's version" says 1.20.json \
    'any(.[]; .kind == "PodDisruptionBudget" and .apiVersion == "policy/v1beta1")'
check "a PodDisruptionBudget of policy/v1" says 1.36.json \
    'any(.[]; .kind == "PodDisruptionBudget" and .apiVersion == "policy/v1")'

# The CRD as rendered is crds/, with the rules or without.
crd_specs() { for file in crds/*.yaml; do objects <"$file"; done | jq -S '.[].spec'; }
same_crds() { # FILE FILTER
    diff <(crd_specs | jq -S "$2") \
        <(jq -S '.[] | select(.kind == "CustomResourceDefinition") | .spec' "$folder/$1") | head -20 >"$folder/answer"
    [ ! -s "$folder/answer" ] || { sed 's/^/# /' "$folder/answer"; return 1; }
}
check "1.36: the CRDs with their CEL rules" same_crds 1.36.json .
check "1.20: the CRDs without CEL rules, else the same" same_crds 1.20.json \
    'walk(if type == "object" then del(."x-kubernetes-validations") else . end)'
check "CRDs outlive the release" says 1.36.json \
    'all(.[] | select(.kind == "CustomResourceDefinition"); .metadata.annotations."helm.sh/resource-policy" == "keep")'

# Roles: the golden files list all permissions.
golden() {
    jq -r '.[] | select(.kind | test("Role$")) | . as $role | .rules[] | "\($role.kind) \($role.metadata.name): " +
        (.apiGroups | join(",") | if . == "" then "core" else . end) + " " +
        (.resources | join(",")) + ([.resourceNames[]?] | if . == [] then "" else " (\(join(",")))" end) + ": " +
        (.verbs | join(" "))' "$folder/$1" | LC_ALL=C sort | diff "tests/data/chart/$2" - >"$folder/answer" && return
    sed 's/^/# /' "$folder/answer" | head -40
    return 1
}
check "roles with scope Cluster" golden 1.36.json rbac-cluster.txt
check "roles with scope Namespace" golden namespace.json rbac-namespace.txt
for file in 1.36.json namespace.json; do
    check "$file: no verb on Secrets but create" says $file \
        '[.[].rules[]? | select(.resources | index("secrets") or index("*")) | .verbs[]] == ["create"]'
    check "$file: no wildcard" says $file '[.[].rules[]? | .verbs[], .resources[], .apiGroups[]] | index("*") | not'
done
check "scope Namespace: nothing cluster-wide but the CRDs" says namespace.json \
    'all(.[] | select(.metadata.namespace == null); .kind == "CustomResourceDefinition")'
for file in 1.20.json 1.36.json namespace.json everything.json; do
    check "$file: Pod Security restricted" python3 tests/pod_security.py <"$folder/$file"
done

##### a real 1.20 API server ######################################################################
# With the plug-in that checks who may block an owner's deletion, as on OpenShift.
tests/cluster/api-server.sh start "$folder/old" --owner $$ -- \
    --enable-admission-plugins=OwnerReferencesPermissionEnforcement >/dev/null || exit 3
export KUBECONFIG=$folder/old/kubeconfig
k() { "$folder/old/kubectl" "$@"; }
quietly() { "$@" >"$folder/answer" 2>&1 || { tail -5 "$folder/answer" | sed 's/^/# /'; return 1; }; }
installed() { quietly helm upgrade --install "$@"; }
# FOLDER VERSION: makes a chart like an older one, with one column less.
older_chart() {
    cp -r $chart "$1"
    sed -i "s/^\(version\|appVersion\): .*/\1: $2/" "$1/Chart.yaml"
    # shellcheck disable=SC2016 # yaml, not shell
    sed -i '/^        - name: Age$/,/^          jsonPath: /d' "$1"/templates/crd-batchscore.yaml
}
older_chart "$folder/older" 0.0.9
k create namespace windlass >/dev/null
k create namespace jobs >/dev/null
check "install of an older chart" installed windlass "$folder/older" -n windlass --set "$registry"
check "the CRD is established" established k crd/batchscores.windlass.dev
job() { cat <<JOB
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: painting, namespace: jobs}
spec:
  input: {video: {path: data/in.mp4}}
  scorer: {onnx: {path: data/model.onnx}}
  output: {path: data/out}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
JOB
}
job >"$folder/job.yaml"
check "a job is taken" quietly k apply -f "$folder/job.yaml"
unseen() { jq -e '.status == {observedGeneration: -1}' >/dev/null; }
born_unseen() { k get bs -n jobs painting -o json | unseen; }
check "and is unseen for kstatus until the controller has seen it" born_unseen
"$folder/old/curl" /apis/windlass.dev/v1alpha1/namespaces/jobs/batchscores/painting/status -X PATCH \
    -H 'Content-Type: application/merge-patch+json' -d '{"status": {"progress": "3/9"}}' >/dev/null
job_as_it_was() {
    k get bs -n jobs painting -o json | jq -S '{uid: .metadata.uid, generation: .metadata.generation, spec, status}'
}
before=$(job_as_it_was)
column() { k get crd batchscores.windlass.dev -o json | jq -e 'any(.spec.versions[0].additionalPrinterColumns[]; .name == "Age")' >/dev/null; }
lacks_column() { ! column; }
check "the older chart's CRD lacks a column" lacks_column
check "upgrade with a job there" installed windlass $chart -n windlass --set "$registry" --reset-then-reuse-values
check "the upgrade brought the column" column
same_job() { [ "$(job_as_it_was)" = "$before" ] || { job_as_it_was | sed 's/^/# /'; return 1; }; }
check "the job is as it was" same_job
new_image() { k get deployment -n windlass windlass -o json | jq -e '.spec.template.spec.containers[0].image | endswith("windlass-operator:0.1.0")' >/dev/null; }
check "the upgrade brought the new image" new_image
draw "ways to upgrade" 1 unchanged client-side rollback options
! is_drawn unchanged || check "an upgrade that changes nothing" installed windlass $chart -n windlass --set "$registry"
! is_drawn client-side || check "upgrade by helm's client-side apply, as helm 3" quietly helm upgrade windlass $chart -n windlass --set "$registry" \
    --server-side=false --force-conflicts=false
if is_drawn rollback; then
    check "roll back" quietly helm rollback windlass 1 -n windlass
    check "and forward" installed windlass $chart -n windlass --set "$registry"
fi
! is_drawn options || check "with every option that this server can have" installed windlass $chart -n windlass --set "$registry" \
    --set networkPolicy.limitEgress=true --set 'networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus' \
    --set priorityClassName=system-cluster-critical --set serviceAccount.annotations.e=f --set commonLabels.team=blue

##### RBAC, asked of the API server ###############################################################
may() { # yes|no ACCOUNT NAMESPACE VERB RESOURCE...
    local wanted=$1 account=$2 namespace=$3 answer
    shift 3
    answer=$(k auth can-i "$@" -n "$namespace" --as="system:serviceaccount:$account" 2>&1)
    [ "${answer##*$'\n'}" = "$wanted" ] || { echo "# $answer"; return 1; }
}
calls='list batchscores.windlass.dev|watch batchscores.windlass.dev
create batchscores.windlass.dev|patch batchscores.windlass.dev|delete batchscores.windlass.dev
patch batchscores.windlass.dev --subresource=status|update batchscores.windlass.dev --subresource=finalizers
list disttrains.windlass.dev|watch disttrains.windlass.dev|create disttrains.windlass.dev|patch disttrains.windlass.dev|delete disttrains.windlass.dev
patch disttrains.windlass.dev --subresource=status|update disttrains.windlass.dev --subresource=finalizers
list sweeps.windlass.dev|watch sweeps.windlass.dev
patch sweeps.windlass.dev --subresource=status|update sweeps.windlass.dev --subresource=finalizers
create pods|list pods|watch pods|patch pods|delete pods
create controllerrevisions.apps|list controllerrevisions.apps|delete controllerrevisions.apps
create services|list services|watch services|patch services|delete services
create secrets|create events.events.k8s.io|patch events.events.k8s.io|list events'
never='get secrets|list secrets|watch secrets|update secrets|patch secrets|delete secrets|deletecollection secrets
update pods|patch pods --subresource=status|update services|get controllerrevisions.apps|patch controllerrevisions.apps|create pods --subresource=exec|create pods --subresource=attach
get pods --subresource=log|create pods --subresource=eviction|create serviceaccounts --subresource=token
get configmaps|create sweeps.windlass.dev|delete sweeps.windlass.dev|update batchscores.windlass.dev|deletecollection pods|create deployments.apps|create jobs.batch|list nodes|list namespaces
create clusterrolebindings.rbac.authorization.k8s.io|impersonate users|bind clusterroles|escalate roles'
all_of() { # yes|no ACCOUNT NAMESPACE TABLE
    python3 -B tests/e2e/cluster/access.py "$folder/old" "$1" "$2" "$3" <<<"$4"
}
check "the controller may all that it does, in any namespace" all_of yes windlass:windlass jobs "$calls"
check "and nothing else" all_of no windlass:windlass jobs "$never"
leases() { # ACCOUNT NAMESPACE
    may yes "$1" "$2" create leases.coordination.k8s.io || return
    local verb
    for verb in get update; do
        may yes "$1" "$2" $verb leases.coordination.k8s.io/windlass-controller || return
    done
    may no "$1" "$2" update leases.coordination.k8s.io/other && may no "$1" jobs create leases.coordination.k8s.io
}
owned_pod() { # ACCOUNT
    local uid
    uid=$(k get bs -n jobs painting -o jsonpath='{.metadata.uid}')
    quietly k create --as="system:serviceaccount:$1" --dry-run=server -f - <<POD
apiVersion: v1
kind: Pod
metadata:
  name: painting-worker-0
  namespace: jobs
  ownerReferences: [{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, name: painting, uid: $uid, controller: true, blockOwnerDeletion: true}]
spec: {containers: [{name: c, image: i}]}
POD
}
check "it may make pods that hold up their job's deletion" owned_pod windlass:windlass
check "its Lease, and no other" leases windlass:windlass windlass

# Beside it, one release per namespace.
check "a second release, for its namespace alone" installed team $chart -n jobs --set "$registry" \
    --set scope=Namespace --set crds.install=false
check "it may all that it does in its namespace" all_of yes jobs:team-windlass jobs "$calls"
check "and nothing in another" all_of no jobs:team-windlass default "$calls"
check "nor more in its own" all_of no jobs:team-windlass jobs "$never"
k create rolebinding people -n jobs --clusterrole=edit --user=anna >/dev/null
k create rolebinding readers -n jobs --clusterrole=view --user=bert >/dev/null
person() { [ "$(k auth can-i "$3" batchscores.windlass.dev -n jobs --as="$2" 2>/dev/null)" = "$1" ]; }
# The controller manager aggregates the API server's own roles.
tests/cluster/api-server.sh controller-manager "$folder/old" --controllers=clusterrole-aggregation >/dev/null 2>&1
aggregated() {
    for _ in $(seq 100); do
        person yes anna create && person yes bert get && person no bert create && return
        nap 0.1
    done
    return 1
}
check "who may edit a namespace may make BatchScores, who may view may see them" aggregated

# The manifests in docs/operate/aks.md.
aks() { awk '/<<[A-Z]+$/ { end = $NF; sub("<<", "", end); print "---"; next } $1 == end { end = "" } end' docs/operate/aks.md | sed 's/^    //'; }
aks_taken() { [ "$(aks | grep -c '^kind:')" -eq 4 ] && aks | quietly k apply --dry-run=server -f -; }
check "docs/operate/aks.md: its classes, claim and pod are taken" aks_taken
aks_restricted() { aks | objects | python3 tests/pod_security.py; }
check "docs/operate/aks.md: Pod Security restricted" aks_restricted

##### uninstall ##################################################################################
check "uninstall" quietly helm uninstall windlass -n windlass --wait
check "the job and its CRD stay" same_job
nothing_left() {
    local left
    left=$(k get deployments,roles,rolebindings,serviceaccounts,networkpolicies,poddisruptionbudgets -n windlass \
        -l app.kubernetes.io/name=windlass -o name; k get clusterroles,clusterrolebindings -l app.kubernetes.io/name=windlass -o name)
    [ -z "$left" ] || { echo "# $left"; return 1; }
}
check "nothing else stays" nothing_left
check "install again takes the CRD that stayed" installed windlass $chart -n windlass --set "$registry"
check "the job is as it was, still" same_job
check "uninstall again" quietly helm uninstall windlass -n windlass --wait
other_name() { installed other $chart -n windlass --set "$registry"; }
other_refused() { ! other_name >"$folder/said" && grep -q 'invalid ownership metadata' "$folder/answer"; }
check "a release of another name does not take the CRD by chance" other_refused
check "but it can with --take-ownership" quietly helm upgrade --install other $chart -n windlass --set "$registry" --take-ownership
check "crds.keep=false" installed other $chart -n windlass --set "$registry" --set crds.keep=false
check "uninstall with it" quietly helm uninstall other -n windlass --wait
gone() { ! k get crd batchscores.windlass.dev >/dev/null 2>&1; }
check "deletes the CRD" gone
tests/cluster/api-server.sh stop "$folder/old"

##### a real 1.36 CRD server ######################################################################
tests/cluster/crd-server.sh start "$folder/new" || exit 3
jq '.[] | select(.kind == "CustomResourceDefinition")' "$folder/1.36.json" >"$folder/crd.json"
ask() { "$folder/new/curl" "$@"; }
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
applied() { # as helm does it
    ask "$crds/batchscores.windlass.dev?fieldManager=helm" -X PATCH -H 'Content-Type: application/apply-patch+yaml' \
        --data-binary "@$folder/crd.json" -o "$folder/answer" -w '%{http_code}' | grep -q '^20[01]$' || return
    for _ in $(seq 100); do
        ask $crds/batchscores.windlass.dev | jq -e 'any(.status.conditions[]?; .type == "Established" and .status == "True") and
            all(.status.conditions[]; .type != "NonStructuralSchema")' >/dev/null && return
        nap 0.1
    done
    return 1
}
check "1.36: the rendered CRD is taken by server-side apply" applied
cel() {
    job | sed 's|data/out|elsewhere/out|' | ask /apis/windlass.dev/v1alpha1/namespaces/jobs/batchscores -X POST \
        -H 'Content-Type: application/yaml' --data-binary @- >"$folder/answer"
    jq -e '.code == 422 and (.message | contains("is neither in a volume of spec.volumes nor in an account of spec.stores"))' \
        "$folder/answer" >/dev/null
}
check "1.36: its CEL rules hold" cel
born_unseen() {
    job | ask /apis/windlass.dev/v1alpha1/namespaces/jobs/batchscores -X POST \
        -H 'Content-Type: application/yaml' --data-binary @- | unseen &&
        ask /apis/windlass.dev/v1alpha1/namespaces/jobs/batchscores/painting | unseen
}
check "1.36: a new job is unseen for kstatus" born_unseen
exit $((failures > 0))
