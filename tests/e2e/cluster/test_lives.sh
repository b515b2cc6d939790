#!/usr/bin/env bash
# What tools make of a job's status from its first to its last, over recorded lives: those that the plans of the three
# kinds lead in test_plan_life, with pods that die, are evicted, and lost writes. At every step kubectl wait (on a real
# API server), kstatus (tests/kstatus.py) and Argo CD's check (docs/operate/gitops/health.lua) say the same.
# SOAK_ROUNDS: so many lives of each kind before a real API server (2); the others see 20 or more.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages lua5.1) || exit 3
built "${BUILD:-build}"/tests/unit/operator/kinds/{batchscore,disttrain,sweep}/test_plan_life >/dev/null || exit 3
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/api"; rm -rf "$folder"' EXIT
each=${SOAK_ROUNDS:-2}
all=$((each > 20 ? each : 20))
for kind in batchscore disttrain sweep; do
    rounds=$((all / 5)) # of ten lives; of a Sweep's fewer are whole
    [ $kind != sweep ] || rounds=$((all * 2))
    SOAK_ROUNDS=$rounds LIVES=$folder/$kind.lives "${BUILD:-build}/tests/unit/operator/kinds/$kind/test_plan_life" >"$folder/out" ||
        { cat "$folder/out"; exit 1; }
done

##### Argo CD and kstatus #########################################################################
cat >"$folder/argo.lua" <<'LUA'
for line in io.lines(arg[2]) do
    local check = assert(loadfile(arg[1]))
    setfenv(check, {obj = assert(loadstring(line))(), ipairs = ipairs, pairs = pairs})
    print(check().status)
end
LUA
# steps NAME: of the first $all complete lives of that kind; one object, what ends it, and the tools' words a line
steps() {
    PYTHONPATH=tests/e2e/cluster python3 -B - "$folder/$1.lives" "$all" "$folder/$1" <<'PYTHON'
import json, sys
from lua_literal import literal
lives = {}
for line in open(sys.argv[1]):
    one = json.loads(line)
    lives.setdefault(one["life"], []).append(one)
def ends(step):
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in step["status"]["conditions"])
whole = [life for life in lives.values() if ends(life[-1]) and not any(map(ends, life[:-1]))]
whole.sort(key=len, reverse=True)  # the longest have the most to tell; both ends
by_end = {"Complete": [], "Failed": []}
for life in whole:
    by_end[next(c["type"] for c in life[-1]["status"]["conditions"] if c["type"] in by_end and c["status"] == "True")].append(life)
few, many = sorted(by_end.values(), key=len)
whole = [life for pair in zip(many, few) for life in pair] + many[len(few):]
objects, chunks = open(sys.argv[3] + ".objects", "w"), open(sys.argv[3] + ".lua", "w")
for number, life in enumerate(whole[:int(sys.argv[2])]):
    for step in life[-20:]:
        thing = {"kind": step["kind"], "life": number, "metadata": {"generation": step["generation"]}, "status": step["status"]}
        objects.write(json.dumps(thing) + "\n")
        chunks.write("return " + literal(thing).replace("\n", " ") + "\n")
PYTHON
    lua5.1 "$folder/argo.lua" docs/operate/gitops/health.lua "$folder/$1.lua" >"$folder/$1.argo" &&
        python3 tests/kstatus.py <"$folder/$1.objects" >"$folder/$1.kstatus"
}
# What the conditions mean, said once more: Complete, Failed (or Stopped as asked), Stalled, Suspended, Reconciling.
wanted() {
    jq -r '([.status.conditions[] | {key: .type, value: .status}] | from_entries) as $is |
        ([.status.conditions[] | select(.type == "Failed") | .reason][0]) as $why |
        if $is.Complete == "True" or ($is.Failed == "True" and $why == "Stopped") then "Healthy Current"
        elif $is.Failed == "True" or $is.Stalled == "True" then "Degraded Failed"
        elif .status.observedGeneration != .metadata.generation then "Progressing InProgress"
        elif $is.Suspended == "True" then "Suspended Current"
        elif $is.Reconciling == "True" then "Progressing InProgress"
        else "Progressing Current" end' "$folder/$1.objects"
}
agree() {
    steps "$1" || return
    [ "$(jq -s '[.[].life] | unique | length' "$folder/$1.objects")" = "$all" ] || { echo "# not $all lives"; return 1; }
    paste -d' ' "$folder/$1.argo" "$folder/$1.kstatus" >"$folder/$1.said"
    wanted "$1" >"$folder/$1.wanted"
    diff "$folder/$1.wanted" "$folder/$1.said" | head -20 | sed 's/^/# /'
    cmp -s "$folder/$1.wanted" "$folder/$1.said"
}
for kind in batchscore disttrain sweep; do
    check "Argo CD and kstatus agree at each step of $all lives ($kind)" agree $kind
done
# State, the reason of Succeeded, from what keeps a job from running to its last steps; only Suspended begins anew.
goes_on() {
    python3 - "$folder/$1.lives" "$all" <<'PYTHON'
import json, sys
RANK = {"Listing": 1, "Gathering": 1, "Preparing": 1, "Running": 2, "Joining": 3, "Stopping": 3, "Registering": 3}
highest, seen, ended = {}, {}, set()
for line in open(sys.argv[1]):
    step = json.loads(line)
    life, told = step["life"], {c["type"]: c for c in step["status"]["conditions"]}
    state, is_over = told["Succeeded"]["reason"], told["Succeeded"]["status"] != "Unknown"
    rank = 4 if is_over else RANK.get(state, 0)
    if told.get("Suspended", {}).get("status") == "True" and not is_over:
        highest[life] = 0
    elif life in ended and (state != seen[life] or not is_over):
        sys.exit("# life %s: ended as %s, then %s" % (life, seen[life], state))
    elif rank < highest.get(life, 0):
        sys.exit("# life %s: from %s back to %s" % (life, seen[life], state))
    else:
        highest[life] = rank
    seen[life] = state
    # A spec that could not be read may be put right.
    if is_over and state != "SpecInvalid":
        ended.add(life)
    elif state == "SpecInvalid":
        highest[life] = 0
if len(seen) < int(sys.argv[2]):
    sys.exit("# only %d lives" % len(seen))
PYTHON
}
for kind in batchscore disttrain sweep; do
    check "State never goes back in $all lives or more ($kind)" goes_on $kind
done

##### kubectl wait ################################################################################
tests/cluster/api-server.sh start "$folder/api" --owner $$ >/dev/null || exit 3
kubectl() { "$folder/api/kubectl" "$@"; }
# No schema and no controller: only the conditions matter.
kubectl apply -f - >/dev/null <<'CRD' || exit 3
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lives.test.windlass.dev}
spec:
  group: test.windlass.dev
  scope: Namespaced
  names: {kind: Life, plural: lives}
  versions:
    - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
CRD
established kubectl crd/lives.test.windlass.dev || exit 3
path=/apis/test.windlass.dev/v1/namespaces/default/lives
store() { "$folder/api/curl" "$path/$1/status" -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary @-; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# One kubectl waits for each of the two from the beginning: neither returns before the last step, one returns with it.
waits() { # KIND LIFE
    local name=$1-$2 total step=0 object end other
    echo "{\"apiVersion\": \"test.windlass.dev/v1\", \"kind\": \"Life\", \"metadata\": {\"name\": \"$name\"}}" | kubectl create -f - >/dev/null || return
    jq -c "select(.life == $2) | {status}" "$folder/$1.objects" | tail -6 >"$folder/life"
    "$folder/api/kubectl" wait --for=condition=Complete --timeout=300s "lives/$name" >/dev/null & local complete=$!
    "$folder/api/kubectl" wait --for=condition=Failed --timeout=300s "lives/$name" >/dev/null & local failed=$!
    total=$(wc -l <"$folder/life")
    while read -r object; do
        if ended $complete || ended $failed; then echo "# $name: a wait ended before step $step of $total"; kill $complete $failed 2>/dev/null; return 1; fi
        echo "$object" | store "$name" | jq -e .status >/dev/null || { kill $complete $failed; return 1; }
        step=$((step + 1))
    done <"$folder/life"
    end=$complete other=$failed
    [ "$(tail -1 "$folder/life" | jq '[.status.conditions[] | select(.type == "Failed" and .status == "True")] | length')" = 0 ] || { end=$failed other=$complete; }
    for ((step = 0; step < 600; step++)); do ended $end && break; nap 0.1; done
    ended $end || { echo "# $name: kubectl waits on after the end"; kill $complete $failed; return 1; }
    wait $end || return
    ended $other && { echo "# $name: both waits ended"; return 1; }
    kill $other
    wait $other 2>/dev/null
    return 0
}
for kind in batchscore disttrain sweep; do
    for ((i = 0; i < each; i++)); do
        check "kubectl wait, life $i of $kind" waits $kind $i
    done
done
exit $((failures > 0))
