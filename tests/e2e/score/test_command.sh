#!/usr/bin/env bash
# scorer.command in whole jobs, by `windlass run`: a user's program scores files, in the three modes of an
# output, with several processes a worker; then programs that misbehave: noise, a wrong id, silence, crashes,
# death in init, leftover children, fewer results than items.
set -u
unset CUDA_VISIBLE_DEVICES
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code" "$work/data/in/deep"
cp tests/e2e/score/hostile.py "$work/code/"
for i in 00 01 02 03 04 05 06 07 08 09 10; do head -c "$((10#$i * 7 + 1))" /dev/zero >"$work/data/in/f$i"; done
head -c 99 /dev/zero >"$work/data/in/deep/z"

# job MODE OUTPUT-FIELDS MORE-OF-THE-SPEC MORE-OF-THE-COMMAND: runs a job of twelve files; its exit code is in $code.
job() {
    discard "$work/data/out" "$work/data/marks" "$work/state"
    mkdir -p "$work/data/marks"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: odd}
spec:
  input: {files: {path: data/in}}
  scorer:
    command:
      command: [python3, \$(code)/hostile.py, $1, "\$(data)", \$\$(data), \$(none)]
      arguments: {marks: "$work/data/marks"}
      environment: {MINE: "\$(data)/x"}
      initTimeoutSeconds: ${INIT:-20}
      ${4:-processesPerWorker: 2}
  output: {path: data/out, $2}
  miniBatchSize: ${SIZE:-2}
  retry: {maxTries: ${TRIES:-3}, timeoutSeconds: 2}
  workers: {min: 1, max: ${WORKERS:-2}}
  ${3:-}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
rows=$work/data/out/rows.txt
count() { jq -r "$1" "$work/data/out/summary.json"; }
pods_say() { cat "$work"/state/*.log | grep -q -- "$1"; }
says() { grep -q -- "$1" "$work/log"; }
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -n 8 "$work/log" | sed 's/^/# /'
    tail -qn 6 "$work"/state/*.log | sed 's/^/# /'
}
# In the input's order: deep/z, then f00, f01, ...
wanted='{"name":"z","size":99}'
for i in 00 01 02 03 04 05 06 07 08 09 10; do wanted+=$'\n'"{\"name\":\"f$i\",\"size\":$((10#$i * 7 + 1))}"; done
echo "$wanted" >"$work/wanted"

# A program that must be restarted, which takes 18 s: longer than the coordinator waits for a result (2 s and 15).
# It runs beside the other checks.
beside=$work/beside
mkdir -p "$beside/data"
cp -r "$work/code" "$beside/"
cp -r "$work/data/in" "$beside/data/"
(work=$beside TRIES=1 INIT=100 WORKERS=1; job late-again 'mode: AppendRow' '' 'processesPerWorker: 1'; echo "$code" >"$work/code.txt") &

##### the three modes ############################################################################
job plain 'mode: AppendRow'
check "AppendRow: all rows, in the order of the input" diff "$rows" "$work/wanted"
check "and it has succeeded" [ "$code $(count '.items.done')" = "0 12" ]
check "the outputs are named" [ "$(count '.outputs[0]')" = data/out/rows.txt ]
show
job plain 'mode: AppendRow, appendRowFileName: my.txt'
check "appendRowFileName" diff "$work/data/out/my.txt" "$work/wanted"
SIZE=auto job plain 'mode: AppendRow'
check "miniBatchSize auto: the same rows" diff "$rows" "$work/wanted"
check "and an item counts as a mini-batch" [ "$code $(count .miniBatches.done)" = "0 12" ]
show
SIZE=auto job failed 'mode: AppendRow' 'errorThreshold: 5'
check "auto: a failed item costs itself alone, and is named" [ "$code $(jq -r '.item, .cause' "$work/data/out/failed.jsonl" | xargs)" = "0 f03 no such shop" ]
check "auto: the others stay" diff "$rows" <(grep -v f03 "$work/wanted")
show
job rows 'mode: AppendRow'
check "a text is a line as it is" [ "$(sed -n '2p;3p;4p' "$rows" | xargs)" = "f00 8 f02" ]
show
job plain 'mode: PerFile'
check "PerFile: one file for each" [ "$code $(find "$work/data/out" -name '*.json' ! -name summary.json ! -name result.json ! -path '*/.windlass/*' | wc -l)" = "0 12" ]
check "with its result" [ "$(jq -c . "$work/data/out/deep/z.json") $(jq .size "$work/data/out/f10.json")" = '{"name":"z","size":99} 71' ]
show
job plain 'mode: SummaryOnly'
check "SummaryOnly: counted, and no file of results" [ "$code $(count '.items.done') $(find "$work/data/out" -name '*.json' ! -path '*/.windlass/*' | wc -l)" = "0 12 2" ]
show
WORKERS=1 job environment 'mode: AppendRow' '' 'processesPerWorker: 3'
check "each process knows its slot" [ "$(jq -r .slot "$rows" | sort -u | xargs)" = "0 1 2" ]
check "variables: ours but the secrets, and the manifest's" [ "$(jq -rc '[.mine, .gpu, (.ours | join(" "))]' "$rows" | sort -u)" = "[\"$work/data/x\",null,\"WINDLASS_JOB WINDLASS_LIFE WINDLASS_SLOT WINDLASS_WORKER\"]" ]
check "\$(VOLUME) in its words is the folder" [ "$(jq -c .more "$rows" | sort -u)" = "[\"$work/data\",\"\$(data)\",\"\$(none)\"]" ]
show

##### those that misbehave #######################################################################
job noise 'mode: AppendRow'
check "noise, second answers and unknown ids change no row" diff "$rows" "$work/wanted"
check "noise and stderr are in the worker's log, with the slot" pods_say 'slot [01]: what goes wrong in'
check "and kept with the results, by try" grep -qr -- '-- .* mini-batch [0-5], try 1' "$work"/data/out/.windlass/*/log/
show
job never-once 'mode: AppendRow'
check "silence ends a try, and the program: the next try succeeds" diff "$rows" "$work/wanted"
check "it says so" pods_say 'no answer within 2'
show
job crash-once 'mode: AppendRow'
check "a crash ends a try" diff "$rows" "$work/wanted"
check "and says how" pods_say 'ended by signal 11'
show
WORKERS=1 SIZE=1 job once-each 'mode: AppendRow' '' 'processesPerWorker: 1'
check "a program that ends after each answer is restarted, and no try is counted" [ "$code $(count .miniBatches.retried)" = "0 0" ]
check "the same rows" diff "$rows" "$work/wanted"
show
job refuses 'mode: AppendRow'
check "a program that a mini-batch ends, even with exit code 0, fails the job" [ $code -eq 1 ]
check "with its exit code, after all tries" says 'ended with exit code 0 (mini-batch [0-9]* on .*, 3 tries'
show
job init-once 'mode: AppendRow'
check "a program that dies once in init is restarted" diff "$rows" "$work/wanted"
show
job forks 'mode: AppendRow'
check "children that a program leaves behind do no harm" diff "$rows" "$work/wanted"
check "no process of it is left" [ -z "$(grep -lsF "MINE=$work/data" /proc/[0-9]*/environ 2>/dev/null)" ]
show
job wrong-id 'mode: AppendRow'
check "answers with an unknown id do not count: the job fails" [ $code -eq 1 ]
check "and says why" says 'no answer within 2'
show
job error 'mode: AppendRow'
check "an error answer fails the job" [ $code -eq 1 ]
check "with its words" says 'out of memory'
show
check "a program without output leaves no failedLog" [ "$(count .failedLog)" = null ]
job says 'mode: AppendRow'
said=$(count .failedLog)
check "failedLog has its output of the failed mini-batch, bounded and clean" \
    [ "$(grep -cE '^line [0-9]+ of [0-9]+  \[31mü' <<<"$said") $(wc -l <<<"$said") $(LC_ALL=C grep -c '[^ -~ü]' <<<"$said")" = "10 10 0" ]
check "windlass run prints it, too" eval 'says "  the program.s last lines in the first mini-batch that failed" && [ "$(grep -c "^    | line " "$work/log")" = 10 ]'
job few 'mode: AppendRow'
check "fewer results than items" says '1 results for 2 items'
show
job init-dies 'mode: AppendRow'
check "death in init: the job fails" [ $code -eq 1 ]
check "with the program's last words" says "No module named 'torch'"
# (The other worker may have begun, too.)
check "and is not tried again" [ "$(grep -hc "slot 0: ModuleNotFoundError" "$work"/state/*worker*.log | sort -n | tail -1)" = 1 ]
show
WORKERS=1 job usage 'mode: AppendRow' '' 'processesPerWorker: 1'
check "wrong arguments: the job fails" [ $code -eq 1 ]
check "with the program's last words" says "unrecognized arguments: --mode"
check "and is not tried again" [ "$(cat "$work"/state/*worker*.log | grep -c 'slot 0: hostile.py: error: unrecognized arguments')" = 1 ]
show
job init-error 'mode: AppendRow' '' 'processesPerWorker: 1'
check "who says that it cannot: its words" says 'no such model: none.bin'
show
job failed 'mode: AppendRow' 'errorThreshold: 5'
check "failed items are left out, the others stay" diff "$rows" <(grep -v f03 "$work/wanted")
check "and are named" [ "$code $(jq -r '.item, .cause' "$work/data/out/failed.jsonl" | xargs)" = "0 f03 no such shop" ]
show

wait
check "a slow start costs no lease anything: not even the only try" [ "$(cat "$beside/code.txt") $(jq .miniBatches.retried "$beside/data/out/summary.json")" = "0 0" ]
check "and the rows are the same" diff "$beside/data/out/rows.txt" "$work/wanted"
[ "$(cat "$beside/code.txt")" = 0 ] || tail -n 8 "$beside/log" "$beside"/state/*.log | sed 's/^/# /'

##### the example ################################################################################
cp -r examples/command "$work/example"
timeout 300 "$windlass" run -f "$work/example/batchscore.yaml" --state "$work/state2" >"$work/log" 2>&1 </dev/null
check "examples/command runs as written" [ $? -eq 0 ]
check "and makes a line a file" [ "$(jq -s length "$work/example/data/sizes/sizes.jsonl")" = "$(find examples/command/data/texts -type f | wc -l)" ]
[ -s "$work/example/data/sizes/sizes.jsonl" ] || sed 's/^/# /' "$work/log"
exit $((failures > 0))
