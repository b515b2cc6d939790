#!/usr/bin/env bash
# Names of blobs that no path of a job can name, that collide, or whose output cannot be named, on a real Azurite: each is
# a failed item with its reason, found when the input is listed; the others are scored, and nothing is skipped.
# Outputs inside the input are refused.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/azurite/own.sh
windlass=$(realpath "${BUILD:-build}/windlass")
in=az://films/$place out=az://results/$place
mkdir -p "$work/code"
cat >"$work/code/score.py" <<'P'
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"ready": True}
    if "init" not in asked:
        answer = {"id": asked["id"], "results": [open(item["path"] if isinstance(item, dict) else item).read() for item in asked["items"]]}
    print(json.dumps(answer), flush=True)
P
run() { # NAME INPUT [OUTPUT [MORE]]: its exit code is in $code
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $2
  scorer: {command: {command: [python3, \$(code)/score.py]}}
  output: {path: ${3:-$out/$1}}
  errorThreshold: -1
  retry: {maxTries: 2, timeoutSeconds: 20}
  workers: {max: 1}
  volumes: [{name: code, hostPath: {path: $work/code}}]
  stores: [{account: films, secretName: films}, {account: results, secretName: results}]
${4:-}
M
    timeout 60 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" >"$work/log-$1" 2>&1 </dev/null
    code=$?
}
summary() { az get results "$place/$1/summary.json" | jq -r "$2"; }
is() { [ "$1" = "$2" ] || { echo "# $1"; false; }; }
fault() { az get results "$place/$1/failed.jsonl" | jq -r --arg name "$2" 'to_entries | map(.value) | select(index($name)) | map(tostring) | join(" ")'; }
failed() { fault "$1" "$2" | grep -qF -- "$3" || { az get results "$place/$1/failed.jsonl" | sed -E 's/([a-z\/])\1{9,}/\1.../g' | sed 's/^/# /'; false; }; }
show() { [ "$failures" -eq 0 ] || tail -qn 8 "$work/log-$1" "$work/state-$1"/*.log | cut -c1-300 | sed 's/^/# /'; }
long=$(printf 'l%.0s' {1..300}) deep=$(printf 'd/%.0s' {1..70})last
wide=$(printf 'w%.0s' {1..200})
euros=$(printf '€%.0s' {1..700}) # 2,100 bytes
wider=$wide/$wide/$wide/$wide/$(printf 'x%.0s' {1..190})

listed() {
    local code
    # shellcheck disable=SC2016 # not for the shell
    jq -nc '$ARGS.positional[]' --args 'plain' 'a' 'a/b' 'A' 'dot.' 'twice//b' '/first' 'slash/' 'space end ' 'per%41cent' 'per%ff' \
        'per%2Fcent' 'plus+&=?#' 'ü' 'summary' 'a.json/b' "$deep" "$long" "$wider" "$euros" '.hidden' 'x/.hidden' 'quote"<>' |
        az names films "$place/in"
    az folder films "$place/in/marked" # an empty folder, as a mount leaves it
    run listed "{files: {path: $in/in}}"
    check "a job within its threshold succeeds" is "$code" 0
    check "all of 21 names are counted, none is skipped" is "$(summary listed '[.items.total, .items.done, .items.failed] | join(" ")')" "21 12 9"
    check "two slashes" failed listed 'twice//b' 'its name has two slashes in a row'
    check "a slash at the beginning" failed listed '/first' 'its name has two slashes in a row'
    check "a slash at the end, with content" failed listed 'slash/' 'its name ends with a slash'
    check "too many parts" failed listed "$deep" 'its name has more than 64 parts'
    check "the summary's name" failed listed summary 'its output would be summary.json, which is a file of the run'
    check "below a name that is another one's output" failed listed a.json/b 'its folder has the name of the output of a: rename one of them'
    check "more than 2,048 bytes" failed listed "$(printf '€%.0s' {1..682})" 'a name that begins so is longer than 2,048 bytes'
    check "an output of more than 1,024 characters" failed listed "$wider" 'has more than 1024 characters or a backslash'
    check "a name that no file here can have, for a program" failed listed "$long" 'no file here can have its name'
    get() { az get results "$place/listed/$1.json" | jq -r .; }
    each() {
        local one
        for one in plain a a/b A dot. 'space end ' per%41cent per%ff per%2Fcent 'plus+&=?#' ü 'quote"<>'; do
            [ "$(get "$one")" = "$one" ] || { echo "# $one: $(get "$one")"; return 1; }
        done
    }
    check "all others are scored, each its own" each
    check "and the output holds" eval '"$windlass" verify "$out/listed" >"$work/said" 2>&1 || { sed "s/^/# /" "$work/said"; false; }'
    az names results "$place/listed" <<<'"odd//name"'
    check "a blob with such a name in an output is found" eval '! "$windlass" verify "$out/listed" >"$work/said" 2>&1 && grep -q "^not made by this run  *odd//name" "$work/said"'
    run listed "{files: {path: $in/in}}"
    check "applied again nothing is done, or found otherwise" eval 'is "$code" 0 && is "$(summary listed "[.items.total, .items.failed] | join(\" \")")" "21 9"'
    show listed
    az clear results "$place/listed"
}
named() {
    local code
    jq -nc '$ARGS.positional[]' --args 'one' 'a' 'a/b' 'dot.' | az names films "$place/named"
    az put films "$place/list.txt" "one
a
a/b
one
dot.
$wider$wider
none
"
    run named "{files: {path: $in/named, manifest: $in/list.txt}}"
    check "a list: all lines are counted" is "$code $(summary named '[.items.total, .items.done, .items.failed] | join(" ")')" "0 7 4 3"
    check "a list: a name twice" failed named one 'has the name of that of an item before it: list it once'
    check "a list: a blob that is not there" failed named none 'the storage answered 404'
    check "a list: a name that no blob can have" failed named "$wider$wider" 'more than 1024 characters'
    show named
}
tables() {
    local code
    jq -nc '$ARGS.positional[]' --args 't.csv' 'odd//t.csv' | az names films "$place/tables"
    run tables "{table: {path: $in/tables}}" "" "  miniBatchSize: 4KB"
    check "rows in a blob with such a name are missed, by name" eval '[ $code -ne 0 ] && grep -q "tables/odd//t.csv: its name has two slashes in a row: remove it" "$work/log-tables"'
    show tables
}
inside() {
    local code
    jq -nc '$ARGS.positional[]' --args one | az names films "$place/apart"
    az names results "$place/apart" <<<'"one"'
    run inside "{files: {path: az://results/$place/apart}}" "$out/apart/scored"
    check "an output inside the input is refused" eval '[ $code -eq 2 ] && grep -q "spec.output.path: is in the input folder" "$work/log-inside"'
    run same "{files: {path: az://results/$place/apart}}" "$out/apart"
    check "and one that is the input" eval '[ $code -eq 2 ] && grep -q "spec.output.path: is in the input folder" "$work/log-same"'
    run beside "{files: {path: az://results/$place/apart}}" "$out/apart-scored"
    check "not one beside it" is "$code" 0
    show beside
}
side_by_side listed named tables inside
exit $((failures > 0))
