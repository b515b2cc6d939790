#!/usr/bin/env bash
# A real API server accepts the pods of every good manifest and every example, and they pass Pod
# Security "restricted" (which that server does not have) as far as the manifest allows: hostPath and
# nfs are forbidden there.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/api"; rm -rf "$folder"' EXIT

# FILE: makes its pods, as JSON in the file $pods.
pods_of() {
    pods=$folder/pods/${1//\//-}.json
    [ -s "$pods" ] || "$windlass" check -f "$1" --pods >"$pods"
}
# FILE: both pods are restricted, except for volumes of the kinds that the manifest names.
restricted() {
    pods_of "$1" || return 1
    tests/pod_security.py --list <"$pods" >"$folder/answer"
    [ $? -le 1 ] && [ "$(grep -c '^# Pod' "$folder/answer")" = 2 ] || { cat "$folder/answer"; return 1; }
    grep -v -e '^# Pod' -e 'spec.volumes\[[-a-z0-9]*\]\.\(hostPath\|nfs\): this kind' "$folder/answer" | sed 's/^/# /'
    [ "${PIPESTATUS[0]}" -eq 1 ]
}
# Fields that only the user can have set are reported.
forbidden() { # JQ-FILTER WHAT-IS-SAID
    "$windlass" check -f tests/data/good-manifests/minimal.yaml --pods | jq "$1" >"$folder/pods.json"
    tests/pod_security.py <"$folder/pods.json" >"$folder/answer"
    [ $? -eq 1 ] && grep -q -F "$2" "$folder/answer"
}
# A real API server accepts both pods, and knows every field in them (kubectl reads its OpenAPI).
taken() {
    pods_of "$1" && accepted 2 -f "$pods" && return 0
    sed 's/^/# /' "$folder/answer"
    return 1
}
accepted() { # PODS KUBECTL-OPTION...
    local count=$1
    shift
    "$folder/api/kubectl" create --validate=true --dry-run=server "$@" >"$folder/answer" 2>&1 &&
        [ "$(grep -c '^pod/.*created' "$folder/answer")" = "$count" ]
}
# kubectl reads the server's OpenAPI each time, most of a second: one call for all, and one for each file if that fails.
all_taken() {
    local file arguments=()
    for file in "${files[@]}"; do
        pods_of "$file" && arguments+=(-f "$pods")
    done
    accepted $((2 * ${#files[@]})) "${arguments[@]}" && return 0
    for file in "${files[@]}"; do
        check "taken: $file" taken "$file"
    done
    return 1
}

# A field that the server does not know is reported, so `taken` is a real check.
misspelt() {
    "$windlass" check -f tests/data/good-manifests/minimal.yaml --pods | jq '.items[0].spec.tolerationz = []' >"$folder/pods.json"
    ! "$folder/api/kubectl" create --validate=true --dry-run=server -f "$folder/pods.json" >"$folder/answer" 2>&1 &&
        grep -q 'unknown field "tolerationz"' "$folder/answer"
}
# FILE: a PersistentVolume and the claim that is bound to it, as a real API server accepts them.
volume() {
    "$folder/api/kubectl" create --validate=true --dry-run=server -f "$1" -o json >"$folder/answer" 2>&1 &&
        jq -s -e 'map(.kind) == ["PersistentVolume", "PersistentVolumeClaim"] and
            .[0].metadata.name == .[1].spec.volumeName and .[0].spec.accessModes == .[1].spec.accessModes' \
            "$folder/answer" >/dev/null && return 0
    head -5 "$folder/answer" | sed 's/^/# /'
    return 1
}

mkdir "$folder/pods"
files=()
tests/cluster/api-server.sh start "$folder/api" >/dev/null || exit 3
for account in default scorer; do "$folder/api/kubectl" create serviceaccount $account >/dev/null; done
"$folder/api/kubectl" create priorityclass batch --value=7 >/dev/null
for handler in nvidia runc; do
    "$folder/api/kubectl" create -f - >/dev/null <<CLASS
{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "$handler"}, "handler": "$handler"}
CLASS
done
found=0
for file in tests/data/good-manifests/*.yaml examples/*/*.yaml; do
    grep -q '^kind: BatchScore' "$file" || [ "${file%.json}" = tests/data/good-manifests/nulls-and-json.yaml ] || continue
    found=$((found + 1))
    check "restricted: $file" restricted "$file"
    files+=("$file")
done
# Every spec of the golden pods, too; containers of a template are not checked.
for file in tests/data/pods/*.json; do
    name=$(basename "$file" .json)
    "$windlass" check -f tests/data/good-manifests/minimal.yaml --show |
        jq --slurpfile golden "$file" '.spec += $golden[0].spec' >"$folder/$name.yaml"
    [ "$name" = template ] || check "restricted: $name" restricted "$folder/$name.yaml"
    files+=("$folder/$name.yaml")
done
check "manifests were found" [ "$found" -ge 6 ]
# Gangs: their pods.
gangs=0
for file in tests/data/gangs/*.yaml; do
    gangs=$((gangs + 1))
    check "restricted: $file" restricted "$file"
    files+=("$file")
done
check "gangs were found" [ "$gangs" -ge 3 ]
# Sweeps: the first trial's pod, and the one that registers the best model.
check "restricted: a sweep's registrar" restricted tests/data/sweeps/command.yaml
files+=(tests/data/sweeps/command.yaml)
check "taken: all ${#files[@]} manifests" all_taken
for file in examples/volumes/*.yaml; do
    grep -q '^kind: BatchScore' "$file" && continue
    check "a volume and its claim: $file" volume "$file"
done
check "a misspelt field is seen" misspelt
first='.items[0].spec.containers[0]'
check "seen: root" forbidden '.items[0].spec.securityContext.runAsUser = 0' 'runAsUser: must not be 0'
check "seen: runAsNonRoot" forbidden 'del(.items[1].spec.securityContext.runAsNonRoot)' 'runAsNonRoot: must be true'
check "seen: seccomp" forbidden 'del(.items[0].spec.securityContext.seccompProfile)' 'seccompProfile.type: must be'
check "seen: escalation" forbidden "del($first.securityContext.allowPrivilegeEscalation)" 'allowPrivilegeEscalation: must be false'
check "seen: capabilities" forbidden "$first.securityContext.capabilities.drop = []" 'capabilities.drop: must hold ALL'
check "seen: more capabilities" forbidden "$first.securityContext.capabilities.add = [\"SYS_ADMIN\"]" 'SYS_ADMIN must not be added'
check "seen: privileged" forbidden "$first.securityContext.privileged = true" 'privileged: must be false'
check "seen: host network" forbidden '.items[0].spec.hostNetwork = true' 'hostNetwork: must be false'
check "seen: host port" forbidden "$first.ports = [{hostPort: 80}]" 'hostPort: must not be set'
check "seen: hostPath" forbidden '.items[0].spec.volumes[0] = {name: "a", hostPath: {path: "/"}}' 'hostPath: this kind of volume is forbidden'
check "seen: a bare container" forbidden '.items[0].spec.initContainers = [{name: "a", image: "b"}]' 'initContainers[a].securityContext'
exit $((failures > 0))
