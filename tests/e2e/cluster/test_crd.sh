#!/usr/bin/env bash
# crds/ on a real Kubernetes 1.36 server for custom resources: the table of bad manifests that our own checks refuse
# (tests/unit/operator/test_resource.c) is refused there too, for the same field and, for a CEL rule, with the same
# message; what we accept is accepted and stored with the same defaults. The first run builds the server: 4 to 6
# minutes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
folder=$(mktemp -d)
trap 'tests/cluster/crd-server.sh stop "$folder"; rm -rf "$folder"' EXIT
tests/cluster/crd-server.sh start "$folder" || exit 3
ask() { "$folder/curl" "$@" -H 'Content-Type: application/yaml'; }
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
group=/apis/windlass.dev/v1alpha1/namespaces/default
scores=$group/batchscores trains=$group/disttrains sweeps=$group/sweeps
# The path for a manifest of that kind; a kind that is not ours goes to BatchScore's.
collection() {
    case $(grep '^kind: ' "$1") in
    *DistTrain) echo "$trains" ;;
    *Sweep) echo "$sweeps" ;;
    *) echo "$scores" ;;
    esac
}
# FILE: its collection, under the version that it is written in.
place() {
    local version
    version=$(sed -n 's#^apiVersion: windlass.dev/##p' "$1" | head -1)
    collection "$1" | sed "s#/v1alpha1/#/${version:-v1alpha1}/#"
}

installed() { # NAME of a file in crds/
    ask "$crds" -X POST --data-binary "@crds/$1.yaml" >"$folder/answer"
    jq -e '.kind != "Status"' "$folder/answer" >/dev/null || { jq -r .message "$folder/answer" | sed 's/^/# /'; return 1; }
    for _ in $(seq 100); do
        ask "$crds/$1s.windlass.dev" >"$folder/answer"
        jq -e '[.status.conditions[] | select(.status == "True") | .type] | sort == ["Established", "NamesAccepted"]' \
            "$folder/answer" >/dev/null 2>&1 && return 0
        nap 0.1
    done
    jq -c '.message, .status.conditions' "$folder/answer" | sed 's/^/# /'
    return 1
}

# The API server prunes and defaults by structural schemas only; a condition reports any other schema.
structural() { jq -e '[.status.conditions[].type] | index("NonStructuralSchema") == null' "$folder/answer" >/dev/null; }

head_of() { sed -n "s/^# $2: //p" "$1" | head -1; }

# FILE: the server's answer must be 4xx and name the field; a rule's message must be ours.
refused() {
    local field says by code answer=$folder/answer
    field=$(head_of "$1" field) says=$(head_of "$1" says) by=$(head_of "$1" by)
    code=$(ask "$(place "$1")?fieldValidation=Strict&dryRun=All" -X POST --data-binary "@$1" -o "$answer" -w '%{http_code}')
    case $by in
    rule) jq -e --arg field "$field" --arg says "$says" \
        'any(.details.causes[]; .field == $field and (.message | contains($says)))' "$answer" >/dev/null ;;
    schema) jq -e --arg field "$field" 'any(.details.causes[]; .field == $field)' "$answer" >/dev/null ;;
    strict) jq -e --arg field "\"$field\"" '.message | contains("unknown field " + $field)' "$answer" >/dev/null ;;
    *) false ;;
    esac
    local fits=$?
    if [ "$code" -lt 400 ] || [ "$code" -ge 500 ] || [ $fits -ne 0 ]; then
        echo "# $1: $code, wanted ($by) $field: $says"
        jq -c '{message, causes: .details.causes}' "$answer" | sed 's/^/# /'
        return 1
    fi
}

accepted() {
    [ "$(ask "$(place "$1")?fieldValidation=Strict&dryRun=All" -X POST --data-binary "@$1" -o "$folder/answer" -w '%{http_code}')" = 201 ] && return 0
    jq -c .message "$folder/answer" | sed 's/^/# /'
    return 1
}

# FILE: accepted, and the stored spec equals the spec with our defaults.
same_defaults() {
    local ours theirs
    ask "$(place "$1")?fieldValidation=Strict&dryRun=All" -X POST --data-binary "@$1" >"$folder/answer"
    ours=$("$windlass" check -f "$1" --show | jq -S .spec)
    theirs=$(jq -S .spec "$folder/answer")
    [ -n "$ours" ] && [ "$ours" = "$theirs" ] && return 0
    jq -c .message "$folder/answer" | sed 's/^/# /'
    diff <(echo "$ours") <(echo "$theirs") | sed 's/^/# /'
    return 1
}

# The schema keeps the status that the plan writes: nothing is pruned or refused.
status_kept() {
    local url=$scores/minimal/status code stored
    ask "$scores" -X POST --data-binary @tests/data/good-manifests/minimal.yaml -o /dev/null
    jq '{apiVersion: "windlass.dev/v1alpha1", kind: "BatchScore", metadata: {name: "minimal"}, status: .want.status}' \
        "$1" >"$folder/status.json"
    code=$("$folder/curl" "$url?fieldValidation=Strict" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        --data-binary "@$folder/status.json" -o "$folder/answer" -w '%{http_code}')
    stored=$(jq -S .status "$folder/answer")
    ask "$scores/minimal" -X DELETE -o /dev/null
    [ "$code" = 200 ] && [ "$stored" = "$(jq -S .status "$folder/status.json")" ] && return 0
    jq -c '.message // .status' "$folder/answer" | sed "s|^|# $1: |"
    return 1
}

# PATCH OUTCOME: a merge patch of a stored job's spec is accepted, or refused with the rule's message.
changed() {
    local code
    code=$("$folder/curl" "$scores/started?dryRun=All" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"spec\": $1}" -o "$folder/answer" -w '%{http_code}')
    case $2 in
    taken) [ "$code" = 200 ] ;;
    refused) [ "$code" = 422 ] && jq -e --arg says "$fixed" \
        'any(.details.causes[]; .field == "spec" and (.message | contains($says)))' "$folder/answer" >/dev/null ;;
    esac && return 0
    echo "# $1: $code, wanted: $2"
    jq -c .message "$folder/answer" | sed 's/^/# /'
    return 1
}
# Fields that may and may not change in a job that has started; before, any valid change is allowed.
change() { # WHEN OUTCOME-OF-WHAT-IS-FIXED
    local patch
    for patch in '{"suspend": true}' '{"activeDeadlineSeconds": 60}' '{"ttlSecondsAfterFinished": 0}' \
        '{"workers": {"max": 7}}' '{"workers": {"min": 0}}' '{"suspend": null, "workers": {"min": 2, "max": 2}}'; do
        check "$1, taken: $patch" changed "$patch" taken
    done
    for patch in '{"input": {"video": {"path": "data/other.mp4"}}}' '{"scorer": {"onnx": {"preprocess": {"width": 8}}}}' \
        '{"output": {"path": "data/other"}}' '{"miniBatchSize": 1}' '{"retry": {"maxTries": 9}}' \
        '{"workers": {"gpus": 1}}' '{"workers": {"spot": true}}' '{"workers": {"resources": {"limits": {"cpu": 1}}}}' \
        '{"workers": {"nodeSelector": {"a": "b"}}}' '{"workers": {"tolerations": [{"operator": "Exists"}]}}' \
        '{"workers": {"template": {"spec": {"runtimeClassName": "nvidia"}}}}' \
        '{"coordinator": {"resources": {"requests": {"cpu": 1}}}}' '{"coordinator": {"template": {"spec": {"a": 1}}}}' \
        '{"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "other"}}]}' '{"image": "other:1"}' \
        '{"imagePullSecrets": [{"name": "a"}]}' '{"serviceAccountName": "a"}' '{"priorityClassName": "a"}' \
        '{"template": {"metadata": {"labels": {"a": "b"}}}}' '{"template": {"spec": {"hostname": "other"}}}' \
        '{"template": null}' '{"logs": {"path": "data/logs"}}' '{"errorThreshold": 1}' '{"miniBatchErrorThreshold": "5%"}' \
        '{"trigger": {"path": "data/READY"}}' '{"schedule": {"cron": "0 3 * * *"}}' '{"rerun": "OnChange"}' \
        '{"stores": [{"account": "films", "secretName": "a"}]}'; do
        check "$1, $2: $patch" changed "$patch" "$2"
    done
}
stored_job() {
    sed 's/name: minimal/name: started/' tests/data/good-manifests/minimal.yaml |
        sed '$a\  template: {spec: {hostname: first}}' >"$folder/job.yaml"
    ask "$scores" -X POST --data-binary "@$folder/job.yaml" >"$folder/answer"
    jq -e '.spec.template.spec.hostname == "first"' "$folder/answer" >/dev/null
}
started() {
    "$folder/curl" "$scores/started/status" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d '{"status": {"specHash": "ab12"}}' | jq -e '.status.specHash == "ab12"' >/dev/null
}

# Where pods run and what they get may change while the controller says that the job is suspended.
suspended() {
    "$folder/curl" "$1/status" -X PATCH -H 'Content-Type: application/merge-patch+json' -d '{"status": {"conditions": [
        {"type": "Suspended", "status": "True", "reason": "Suspended", "message": "m", "lastTransitionTime": "2026-11-21T04:00:00Z"}]}}' |
        jq -e '.status.conditions[0].type == "Suspended"' >/dev/null
}
while_suspended() {
    local patch
    for patch in '{"workers": {"resources": {"limits": {"cpu": 1}}}}' '{"workers": {"nodeSelector": {"a": "b"}}}' \
        '{"workers": {"tolerations": [{"operator": "Exists"}]}}' '{"priorityClassName": "a"}' \
        '{"coordinator": {"resources": {"requests": {"cpu": 1}}}}' \
        '{"suspend": false, "workers": {"nodeSelector": {"a": "b"}}}'; do
        check "suspended, taken: $patch" changed "$patch" taken
    done
    for patch in '{"workers": {"gpus": 1}}' '{"workers": {"spot": true}}' '{"miniBatchSize": 1}' \
        '{"coordinator": {"template": {"spec": {"a": 1}}}}' '{"workers": {"template": {"spec": {"runtimeClassName": "nvidia"}}}}'; do
        check "suspended, refused: $patch" changed "$patch" refused
    done
}
gang_suspended() {
    local code patch
    trial() { # PATCH
        "$folder/curl" "$trains/tuned?dryRun=All" -X PATCH -H 'Content-Type: application/merge-patch+json' \
            -d "{\"spec\": $1}" -o "$folder/answer" -w '%{http_code}'
    }
    for patch in '{"resources": {"limits": {"cpu": 1}}}' '{"nodeSelector": {"a": "b"}}' '{"priorityClassName": "a"}'; do
        [ "$(trial "$patch")" = 422 ] || { echo "# taken while it runs: $patch"; return 1; }
    done
    suspended "$trains/tuned" || return
    for patch in '{"resources": {"limits": {"cpu": 1}}}' '{"nodeSelector": {"a": "b"}}' '{"priorityClassName": "a"}'; do
        [ "$(trial "$patch")" = 200 ] || { echo "# refused: $patch"; jq -c .message "$folder/answer" | sed 's/^/# /'; return 1; }
    done
    for patch in '{"gpus": 1}' '{"workers": 7}' '{"image": "other:1"}'; do
        [ "$(trial "$patch")" = 422 ] || { echo "# taken while it is suspended: $patch"; return 1; }
    done
}

# The columns of `kubectl get bs` for a running job, and how much `-o wide` adds.
columns() {
    "$folder/curl" "$scores/started/status" -X PATCH -H 'Content-Type: application/merge-patch+json' -o /dev/null \
        -d '{"status": {"progress": "24/280", "items": {"failed": 1}, "itemsPerSecond": "12.5", "secondsLeft": 20,
            "conditions": [{"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "m",
            "lastTransitionTime": "2026-11-21T04:00:00Z"}]}}'
    "$folder/curl" "$scores/started" -H 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io' >"$folder/answer"
    jq -e '[.columnDefinitions[] | select(.priority == 0).name] ==
            ["Name", "State", "Waiting", "Done", "Failed", "Items/s", "Left", "Age"] and
        (.rows[0].cells[0:7] | del(.[2])) == ["started", "Running", "24/280", 1, "12.5", 20] and
        (.columnDefinitions | length) > 10' "$folder/answer" >/dev/null && return 0
    jq -c '.columnDefinitions | map(.name), .rows[0].cells' "$folder/answer" | sed 's/^/# /'
    return 1
}

# spec.stop of a stored job may be set while it runs, and never be removed. PATCH OUTCOME
stopped() {
    local code
    code=$("$folder/curl" "$trains/tuned" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"spec\": $1}" -o "$folder/answer" -w '%{http_code}')
    case $2 in
    taken) [ "$code" = 200 ] ;;
    refused) [ "$code" = 422 ] && jq -e 'any(.details.causes[]; .field == "spec.stop" and (.message | contains("can be set only once")))' "$folder/answer" >/dev/null ;;
    esac && return 0
    echo "# $1: $code, wanted: $2"
    jq -c .message "$folder/answer" | sed 's/^/# /'
    return 1
}
stop_once() {
    sed 's/name: .*/name: tuned}/; /^# /d' tests/data/bad-manifests/dt-stop-lines.yaml | sed '/^  stop:/d' >"$folder/train.yaml"
    ask "$trains" -X POST --data-binary "@$folder/train.yaml" -o "$folder/answer"
    "$folder/curl" "$trains/tuned/status" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d '{"status": {"specHash": "ab12", "objective": {"reports": 2, "best": "0.5", "at": "1::0.5:0.5"}}}' |
        jq -e '.status.objective.at == "1::0.5:0.5"' >/dev/null || return 1
    stopped '{"metrics": {"objective": "a", "goal": "Minimize"}}' taken 2>/dev/null >&2 && return 1 # (a fixed field)
    stopped '{"stop": "enough"}' taken && stopped '{"stop": "enough"}' taken && stopped '{"stop": "more"}' refused &&
        stopped '{"stop": null}' refused && stopped '{"suspend": true}' taken
}

for name in batchscore disttrain sweep; do
    check "the definition is installed: $name" installed $name
    [ $failures -eq 0 ] || exit 1 # nothing else would report it
    check "its schema is structural: $name" structural
done
rules=0
for file in tests/data/bad-manifests/*.yaml; do
    case $(head_of "$file" by) in
    us) continue ;; # not YAML, not one resource of ours, or stricter than the server on purpose
    step | cluster) # described in the definition, refused by us until the agent supports it
        check "accepted: $(basename "$file" .yaml)" accepted "$file"
        check "same defaults: $(basename "$file" .yaml)" same_defaults "$file"
        continue
        ;;
    rule) rules=$((rules + 1)) ;;
    esac
    check "refused: $(basename "$file" .yaml)" refused "$file"
done
check "rules were tried" [ "$rules" -ge 20 ]
for file in tests/data/good-manifests/*.yaml tests/data/sweeps/*.yaml examples/*/batchscore.yaml; do
    check "same defaults: $file" same_defaults "$file"
done
fixed="cannot be changed once the job has started, except suspend"
check "a job is stored, its template whole" stored_job
change "not started" taken
check "it has started" started
change "started" refused
check "it is suspended" suspended "$scores/started"
while_suspended
check "columns" columns
check "a DistTrain's stop can be set only once" stop_once
check "a DistTrain's places may change while it is suspended, and only then" gang_suspended
for file in tests/data/plan/[0-9]*.json; do
    check "status kept: $(basename "$file" .json)" status_kept "$file"
done
exit $((failures > 0))
