#!/usr/bin/env bash
# An administrator's policy (--job-policy) on a real API server (Kubernetes 1.20, which has no admission policies): every
# way of tests/data/job-policy/cases.json to ask for what it forbids makes nothing and is Stalled with its field; what it
# allows runs. `windlass check --job-policy` says the same. A job that had begun without a policy gets no more pods.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=job-policy
. tests/e2e/cluster/jobs.sh
k() { "$kubectl" "$@"; }
cases=tests/data/job-policy/cases.json
jq -c .policy $cases >"$work/policy.json"
# Each a resource of its own: c0, c1, ...
jq -c '.base as $base | .cases | to_entries[] | {apiVersion: "windlass.dev/v1beta1", kind: .value.kind, metadata: {name: "c\(.key)"},
    spec: ($base[.value.base // .value.kind] * .value.spec)}' $cases >"$work/jobs.json"
# KIND/NAME FIELD, or - for one that is allowed.
jq -r '.cases | to_entries[] | "\(.value.kind)/c\(.key) \(.value.field // "-")"' $cases | LC_ALL=C sort >"$work/wanted"

##### before there is a server #######################################################################################
said() { "$windlass" check "$@" -f "$work/one.json" 2>&1; }
check_agrees() {
    local one name field bad=0
    while IFS= read -r one; do
        printf '%s\n' "$one" >"$work/one.json"
        name=$(jq -r '"\(.kind)/\(.metadata.name)"' <<<"$one")
        field=$(sed -n "s|^$name ||p" "$work/wanted")
        if [ "$field" = - ]; then
            said --job-policy "$work/policy.json" >/dev/null || { echo "# $name: refused"; bad=1; }
        else
            said >/dev/null && ! said --job-policy "$work/policy.json" >"$work/said" && grep -qF " $field: " "$work/said" ||
                { echo "# $name: not refused for $field: $(cat "$work/said")"; bad=1; }
        fi
    done < <(sed -n '1~5p' "$work/jobs.json")
    return $bad
}
check "windlass check --job-policy names each field" check_agrees
check "and is silent without" [ "$(wc -l <"$work/wanted")" -gt 50 ]

##### a job from before the policy ####################################################################################
controller before --no-leader-election || exit 1
job early | sed 's/^spec:/&\n  image: other.example\/agent:1/' | k apply -f - >/dev/null
early_runs() { [ "$(count pods early)" -ge 1 ] && [ -n "$(field early .status.credentials.secret)" ]; }
check "a job begins without a policy" within 60 early_runs
kill "$pid"
wait "$pid"
k delete pods -l windlass.dev/job=early --force --grace-period=0 >/dev/null 2>&1

##### under the policy ################################################################################################
controller policy --no-leader-election --job-policy "$work/policy.json" || exit 1
k apply --validate=false -f "$work/jobs.json" >"$work/applied" 2>&1 || sed 's/^/# /' "$work/applied"
# KIND/NAME FIELD: as the conditions say it, - for one that is not Stalled. Not of trials (c2-0000).
told() {
    k get bs,dt,sweeps -o json | jq -r '.items[] | select(.metadata.name | test("^c[0-9]+$")) |
        (.status.conditions // [] | map(select(.type == "Stalled" and .status == "True" and .reason == "SpecInvalid")) | .[0]) as $stalled |
        select(.status.conditions) | "\(.kind)/\(.metadata.name) \(if $stalled then $stalled.message | split(": ")[0] else "-" end)"' |
        LC_ALL=C sort
}
all_told() { told >"$work/told"; cmp -s "$work/told" "$work/wanted"; }
conditions_agree() { within 60 all_told || { diff "$work/wanted" "$work/told" | head -20 | sed 's/^/# /'; return 1; }; }
check "each of $(wc -l <"$work/wanted") jobs says what the policy refuses" conditions_agree
names_of() { # REFUSED|ALLOWED, of jobs with pods of their own
    grep -v ^Sweep "$work/wanted" | awk -v refused="$([ "$1" = REFUSED ] && echo 1)" '{ sub(/.*\//, "", $1); if (($2 != "-") == (refused != "")) print $1 }'
}
allowed_run() { local name; for name in $(names_of ALLOWED); do [ "$(count pods "$name")" -ge 1 ] || return 1; done; }
check "what it allows has pods ($(names_of ALLOWED | wc -l) jobs)" within 60 allowed_run
# By then the refused ones have been looked at for long: their conditions came first.
made_for() {
    local kind
    for kind in pods services secrets networkpolicies.networking.k8s.io disttrains; do
        k get $kind -o json | jq -r --arg names "$(names_of REFUSED; sed -n 's/^Sweep\/\(.*\) [^-].*/\1/p' "$work/wanted")" \
            '.items[] | (.metadata.labels["windlass.dev/job"] // "") as $job |
             select(($names | split("\n") | index($job)) and $job != "") | "\(.kind)/\(.metadata.name)"'
    done
    k get secrets -o name | grep -E "^secret/($(names_of REFUSED | paste -sd'|'))-"
}
made_for >"$work/made"
check "nothing at all is made for a refused one" [ ! -s "$work/made" ]
sed 's/^/# /' "$work/made"
early_waits() { [ "$(condition early reason Stalled)" = SpecInvalid ] && [ "$(count pods early)" = 0 ]; }
check "the job from before is Stalled and gets no pods" within 60 early_waits
check "and names the image" grep -qF 'spec.image: other.example/agent:1 is not among the images' <<<"$(condition early message Stalled)"

##### corrected #######################################################################################################
first=$(grep '^BatchScore.*spec.image$' "$work/wanted" | sed 's|.*/\(c[0-9]*\) .*|\1|;q')
k patch bs "$first" --type merge -p '{"spec": {"image": "good.example/agent:2"}}' >/dev/null
has_pods() { [ "$(count pods "$first")" -ge 1 ]; }
check "a refused job that is corrected runs ($first)" within 60 has_pods
kill "$pid"
wait "$pid"
bad_policy() { "$windlass" controller --job-policy '{"hostpath": false}' >"$work/said" 2>&1; [ $? = 2 ] && grep -qF -- '--job-policy: hostpath: is unknown' "$work/said"; }
check "a policy that is none ends the controller with 2" bad_policy
exit $((failures > 0))
