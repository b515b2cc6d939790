#!/usr/bin/env bash
# The pods of every manifest that is good or an example pass Pod Security "restricted", as far as the
# manifest lets them: hostPath and nfs it forbids, and whoever asks for them is told so here.
set -u
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# FILE: both pods are restricted but for volumes of the kinds that the manifest asks for by name.
restricted() {
    "$windlass" check -f "$1" --pods >"$folder/pods.json" || return 1
    tests/pod_security.py --list <"$folder/pods.json" >"$folder/answer"
    [ $? -le 1 ] && [ "$(grep -c '^# Pod' "$folder/answer")" = 2 ] || { cat "$folder/answer"; return 1; }
    grep -v -e '^# Pod' -e 'spec.volumes\[[-a-z0-9]*\]\.\(hostPath\|nfs\): this kind' "$folder/answer" | sed 's/^/# /'
    [ "${PIPESTATUS[0]}" -eq 1 ]
}
# What only the user can have asked for is seen.
forbidden() { # JQ-FILTER WHAT-IS-SAID
    "$windlass" check -f tests/data/good-manifests/minimal.yaml --pods | jq "$1" >"$folder/pods.json"
    tests/pod_security.py <"$folder/pods.json" >"$folder/answer"
    [ $? -eq 1 ] && grep -q -F "$2" "$folder/answer"
}
# A server of 1.36's OpenAPI would know: no field of ours is misspelt.
known() {
    "$windlass" check -f "$1" --pods | jq -e '[.items[].spec | keys[]] - ["restartPolicy",
        "automountServiceAccountToken", "enableServiceLinks", "securityContext", "containers", "initContainers",
        "volumes", "serviceAccountName", "priorityClassName", "imagePullSecrets", "nodeSelector", "tolerations",
        "affinity", "runtimeClassName", "hostname"] == []' >/dev/null
}

found=0
for file in tests/data/good-manifests/*.yaml examples/*/*.yaml; do
    grep -q '^kind: BatchScore' "$file" || [ "${file%.json}" = tests/data/good-manifests/nulls-and-json.yaml ] || continue
    found=$((found + 1))
    check "restricted: $file" restricted "$file"
    check "known fields: $file" known "$file"
done
check "manifests were found" [ "$found" -ge 5 ]
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
