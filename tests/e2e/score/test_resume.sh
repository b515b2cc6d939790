#!/usr/bin/env bash
# A job that was cancelled or has failed, run again, continues where it was. Committed work is not done again; at
# most the work in flight (for each slot the running mini-batch and the one sent ahead) is done twice, and
# nothing is written twice. Counted by the program that scores, and by the tries in the output.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/in" "$work/code" "$work/model"
python3 tests/data/models/make.py "$work/model"
for i in $(seq -w 0 199); do head -c "$((10#$i * 7 + 1))" /dev/zero >"$work/data/in/f$i"; done
# Logs each request in one write; takes 20 ms each. While the file `bad` exists, mini-batch 120 fails.
cat >"$work/code/count.py" <<'P'
import json, os, sys, time
line = json.loads(sys.stdin.readline())["init"]
asked = os.open(line["arguments"]["asked"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print('{"ready":true}', flush=True)
for text in sys.stdin:
    request = json.loads(text)
    os.write(asked, f"{request['miniBatch']}\n".encode())
    time.sleep(0.02)
    if request["miniBatch"] == 120 and os.path.exists(line["arguments"]["bad"]):
        print(json.dumps({"id": request["id"], "error": "a bad day"}), flush=True)
        continue
    results = [{"name": os.path.basename(item), "size": os.path.getsize(item)} for item in request["items"]]
    print(json.dumps({"id": request["id"], "results": results}), flush=True)
P
program='{command: {command: [python3, $(code)/count.py], processesPerWorker: 2, arguments: {asked: '$work/asked', bad: '$work/bad'}}}'
manifest() { # input, scorer, output's fields, size of a mini-batch
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: again}
spec:
  input: $1
  scorer: $2
  output: {path: data/out, $3}
  miniBatchSize: ${4:-1}
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
}
fresh() { discard "$work/data/out" "$work/state" "$work/asked" "$work/bad"; touch "$work/asked"; }
launch() { timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" "$@" >"$work/log" 2>&1 </dev/null & run=$!; }
ends() { wait $run; code=$?; }
# Sends Ctrl-C when that many requests or tries exist.
cancel_at() {
    for _ in $(seq 2000); do [ "$("${@:2}")" -lt "$1" ] || break; nap 0.01; done
    kill -INT "$(pgrep -P $run -x windlass)"
    ends
}
asked() { wc -l <"$work/asked"; }
different() { sort -u "$work/asked" | wc -l; }
records() { cat "$work"/data/out/.windlass/*/commit/* | grep -c '^\["d"'; }
cells_once() { [ -z "$(cat "$work"/data/out/.windlass/*/commit/* | grep '^\["d"' | cut -d, -f2 | sort | uniq -d)" ]; }
tries() { find "$work/data/out" -path '*/try/*' ! -name '.*' 2>/dev/null | wc -l; }
summary() { jq -r "$1" "$work/data/out/summary.json"; }
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -qn 8 "$work/log" "$work"/state/*.log | sed 's/^/# /'
}
flight=8 # 2 workers, 2 slots each, 2 requests each

for mode in 'mode: AppendRow' 'mode: PerFile'; do
    manifest '{files: {path: data/in}}' "$program" "$mode"
    results() {
        if [ "$mode" = 'mode: AppendRow' ]; then
            cat "$work/data/out/rows.txt"
        else
            (cd "$work/data/out" && find . -name 'f*.json' | sort | xargs cat)
        fi
    }
    fresh
    launch
    ends
    results >"$work/quiet"
    check "$mode: a quiet run asks once for each" [ "$code $(asked) $(different) $(wc -l <"$work/quiet")" = "0 200 200 200" ]

    fresh
    launch
    cancel_at 70 asked
    before=$(records) first=$(asked)
    check "cancelled: code 130, $before of $first that were asked are committed" [ "$code" = 130 -a "$before" -ge $((first - flight)) ]
    check "no results yet, or only committed ones" [ "$(find "$work/data/out" -name 'f*.json' | wc -l)" -le "$before" ]
    show
    launch
    ends
    check "run again: all is there, once, and the same" diff -q <(results) "$work/quiet"
    check "code 0, and it counts all" [ "$code $(summary .items.done)" = "0 200" ]
    check "no mini-batch was committed twice" cells_once
    check "what was committed was not asked again: $(asked) for 200" [ "$(different)" = 200 -a "$(asked)" -le $((200 + first - before)) ]
    show

    fresh
    touch "$work/bad"
    launch
    ends
    before=$(records) first=$(asked)
    check "failed: code 1, $before are committed" [ "$code" = 1 -a "$before" -gt 50 -a "$before" -lt 200 ]
    check "all that was asked is, but for the bad one, which was tried twice" [ "$before" -ge $((first - 2 - flight)) -a "$(grep -cx 120 "$work/asked")" = 2 ]
    rm "$work/bad"
    launch
    ends
    check "run again: all is there, once, and the same" diff -q <(results) "$work/quiet"
    check "code 0; no mini-batch was committed twice" [ "$code $(cells_once && echo once)" = "0 once" ]
    check "what was committed was not asked again: $(asked) for 200" [ "$(different)" = 200 -a "$(asked)" -le $((200 + first - before)) ]
    show
    [ "$mode" = 'mode: AppendRow' ] || continue
    first=$(asked)
    launch
    ends
    check "a third time: nothing to do, and nothing is asked" [ "$code $(asked)" = "0 $first" ]
    launch --restart
    ends
    check "--restart: all is done again, and it says what it threw away" \
        [ "$code $(asked) $(grep -c 'thrown away' "$work/log")" = "0 $((first + 200)) 1" ]
    check "with the same results" diff -q <(results) "$work/quiet"
    first=$(asked)
    sed -i 's/miniBatchSize: 1/miniBatchSize: 2/' "$work/job.yaml"
    launch
    ends
    check "cut otherwise it is the same run: nothing to do" [ "$code $(asked) $(grep -c 'nothing to do' "$work/log")" = "0 $first 1" ]
    show
done

##### a report that cannot be written ##############################################################
for in_its_place in '' failed.jsonl/folder; do
    manifest '{files: {path: data/in}}' "$program" 'mode: AppendRow' 200
    fresh
    [ -z "$in_its_place" ] || mkdir -p "$work/data/out/$in_its_place"
    launch
    ends
    left=$([ -z "$in_its_place" ] && echo "0 0" || echo "1 1")
    check "code 0; what the report is made of stays if there is none: $left" \
        [ "$code $(cat "$work"/state/*.log "$work/log" | grep -c 'ERROR the report: .*failed.jsonl') $(tries)" = "0 $left" ]
    launch
    ends
    check "also when it is run again, with nothing to do" [ "$code $(asked) $(tries)" = "0 1 ${left#* }" ]
    show
done

##### --restart beside a coordinator that lives ######################################################
sed -i 's/time.sleep(0.02)/time.sleep(0.1)/' "$work/code/count.py"
manifest '{files: {path: data/in}}' "$program" 'mode: AppendRow'
fresh
launch
some_are_asked() { [ "$(asked)" -ge 20 ]; }
look_every=10 until_true 60 some_are_asked
timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state2" --restart >"$work/log2" 2>&1 </dev/null
check "--restart is refused while a coordinator lives (code $?)" grep -q 'another run of this job writes there' "$work/log2"
ends
check "which ends as if no request had come" [ "$code $(asked) $(wc -l <"$work/data/out/rows.txt")" = "0 200 200" ]
show

##### a film through a network ###################################################################
ffmpeg -v error -f lavfi -i testsrc2=size=160x90:rate=25 -frames:v 60 -c:v libx264 -pix_fmt yuv420p "$work/data/film.mp4" </dev/null || exit 3
manifest '{video: {path: data/film.mp4}}' '{onnx: {path: model/slow.onnx}}' 'mode: PerFile'
fresh
launch
ends
sha256sum <"$work/data/out/film.mp4" >"$work/quiet"
check "film: a quiet run" [ $code = 0 ]
fresh
launch
cancel_at 20 tries
before=$(records) first=$(tries)
check "cancelled: code 130, $before of $first tries are committed" [ "$code" = 130 -a "$before" -ge $((first - 4)) -a "$before" -lt 60 ]
show
launch
ends
check "run again: the same film" diff -q <(sha256sum <"$work/data/out/film.mp4") "$work/quiet"
check "the summary counts what the workers of both have done" [ "$code $(summary '[.workers[].miniBatches] | add')" = "0 60" ]
check "no mini-batch was committed twice" cells_once
show
exit $((failures > 0))
