#!/usr/bin/env bash
# A real API server accepts the pods of every good manifest and every example, and they pass Pod
# Security "restricted" (which that server does not have) as far as the manifest allows: hostPath and
# nfs are forbidden there. `make test` draws a third of the manifests.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/api"; rm -rf "$folder"' EXIT

# Fields that only the user can have set are reported.
forbidden() { # JQ-FILTER WHAT-IS-SAID
    "$windlass" check -f tests/data/good-manifests/minimal.yaml --pods | jq "$1" >"$folder/pods.json"
    tests/pod_security.py <"$folder/pods.json" >"$folder/answer"
    [ $? -eq 1 ] && grep -q -F "$2" "$folder/answer"
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
# In one call, and one for each if that fails.
all_volumes() {
    local file
    # shellcheck disable=SC2046 # the names are plain
    "$folder/api/kubectl" create --validate=true --dry-run=server $(printf ' -f %s' "${claims[@]}") -o json >"$folder/answer" 2>&1 &&
        jq -s -e --argjson count "${#claims[@]}" 'length == 2 * $count and all(range(0; length; 2) as $i | .[$i:$i + 2];
            map(.kind) == ["PersistentVolume", "PersistentVolumeClaim"] and
            .[0].metadata.name == .[1].spec.volumeName and .[0].spec.accessModes == .[1].spec.accessModes)' \
            "$folder/answer" >/dev/null && return 0
    for file in "${claims[@]}"; do check "a volume and its claim: $file" volume "$file"; done
    return 1
}

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
    files+=("$file")
done
# Every spec of the golden pods, too.
for file in tests/data/pods/*.json; do
    files+=("$folder/$(basename "$file" .json).yaml")
done
check "manifests were found" [ "$found" -ge 6 ]
# Gangs: their pods.
gangs=0
for file in tests/data/gangs/*.yaml; do
    gangs=$((gangs + 1))
    files+=("$file")
done
check "gangs were found" [ "$gangs" -ge 3 ]
draw "manifests" $((${#files[@]} / 3)) "${files[@]}"
files=("${drawn[@]}")
# Sweeps: the first trial's pod, and the one that registers the best model.
files+=(tests/data/sweeps/command.yaml)
python3 -B tests/e2e/cluster/pods.py "$windlass" "$folder" "${files[@]}" || failures=$((failures + 1)) # prints the checks
mapfile -t claims < <(grep -L '^kind: BatchScore' examples/volumes/*.yaml)
check "volumes were found" [ ${#claims[@]} -ge 3 ]
check "all ${#claims[@]} volumes and their claims" all_volumes
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
