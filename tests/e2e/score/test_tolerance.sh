#!/usr/bin/env bash
# What a job tolerates, and what remains of a failed one: thresholds of items and of mini-batches, the good
# items of a mini-batch with bad ones, and the job run again after its input was repaired. Real processes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
agent=$(realpath "${AGENT:-${BUILD:-build}/windlass-agent}")
work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/model" "$work/photos"
python3 tests/data/models/make.py "$work/model"
make_certificate "$work" || exit 3
port=$(first_port)
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=10 -frames:v 12 "$work/photos/p%02d.png" </dev/null || exit 3
cp -r "$work/photos" "$work/good"
break_three() { for i in 02 03 11; do head -c 120 "$work/good/p$i.png" >"$work/photos/p$i.png"; done; }
# spec MORE: twelve pictures in mini-batches of four, three of them broken, in two mini-batches.
spec() {
    jq -cn --argjson more "$1" '{input: {files: {path: "data/photos", pattern: "*.png"}}, miniBatchSize: 4,
        scorer: {onnx: {path: "model/invert.onnx"}}, output: {path: "out/o"}, retry: {maxTries: 2, timeoutSeconds: 60}} + $more'
}
pod() { # job, uid, role, spec
    env data="$work" out="$work/$1" model="$work/model" WINDLASS_JOB="$1" WINDLASS_RUN=0123456789abcdef WINDLASS_UID="$2" \
        WINDLASS_SPEC="$(batchscore_spec "$4")" WINDLASS_TOKEN=secret WINDLASS_WORKER="$1-w" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
        WINDLASS_BIND="127.0.0.1:$port" WINDLASS_COORDINATOR="127.0.0.1:$port" \
        WINDLASS_COORDINATOR_SHA256="$sha256" WINDLASS_TERMINATION_LOG="$work/$1.$3.words" \
        "$agent" "$3" 2>>"$work/$1.log" &
    pids+=($!)
}
# job NAME UID MORE: runs a job; its exit code is in $code.
job() {
    mkdir -p "$work/$1"
    pod "$1" "$2" coordinate "$(spec "$3")"
    local coordinator=$!
    pod "$1" "$2" score "$(spec "$3")"
    local worker=$!
    wait $coordinator
    code=$?
    # A worker that has not met its coordinator would wait for the next one.
    for _ in $(seq 50); do kill -0 $worker 2>/dev/null || break; nap 0.1; done
    kill $worker 2>/dev/null
    wait $worker
    port=$((port + 1))
}
words() { jq -r "$2" "$work/$1.coordinate.words"; }
made() { find "$work/$1/o" -name '*.png' | wc -l; }
show() { [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -n 12 "$work/$1.log" | sed 's/^/# /'; }; }

break_three
job three u1 '{"errorThreshold": 3}'
check "three failed items of three: it succeeds" [ "$code $(words three .state)" = "0 Succeeded" ]
check "it counts them" [ "$(words three '.items.done, .items.failed, .miniBatches.failed' | xargs)" = "9 3 2" ]
check "the good ones of their mini-batches are there, the bad ones are not" [ "$(made three)" = 9 -a ! -e "$work/three/o/p02.png" ]
check "each was tried twice" [ "$(grep -c 'corrupt PNG' "$work/three.log")" -ge 2 ]
show three
job two u1 '{"errorThreshold": 2}'
check "one more than the threshold: it has failed" [ "$code $(words two .state)" = "1 Failed" ]
check "and names the first cause: $(words two .message)" grep -q 'p[01][0-9].png.*2 tries' <(words two .message)
check "nothing of the bad ones is there" [ "$(made two)" -le 9 -a ! -e "$work/two/o/p02.png" ]
show two
job share u1 '{"errorThreshold": -1, "miniBatchErrorThreshold": "70%"}'
check "two of three mini-batches are less than 70 %" [ "$code $(made share)" = "0 9" ]
show share
job count u1 '{"errorThreshold": -1, "miniBatchErrorThreshold": 1}'
check "two mini-batches of one that may: it has failed" [ $code = 1 ]
show count
job any u1 '{"errorThreshold": -1}'
check "-1 ignores failures" [ "$code $(made any)" = "0 9" ]
show any

##### run again ##################################################################################
job again u1 '{"errorThreshold": 0}'
check "the default: the first failed item ends it" [ $code = 1 ]
job again u1 '{"errorThreshold": 0}'
check "the same job stays failed, at once" [ "$code $(words again .state)" = "1 Failed" ]
cp "$work"/good/p{02,03,11}.png "$work/photos/"
before=$(find "$work/again/o/.windlass" -path '*/commit/*' -exec cat {} + | grep -c '^\["d"')
# The first coordinator finishes what another job has begun; the next one, in its place, scores what has changed since. As
# the controller does, 3 is always followed by another one: it may have been a time limit, on a busy machine.
codes=
for _ in 1 2 3 4 5 6; do job again u2 '{"errorThreshold": 0}'; codes+=" $code"; [ $code = 3 ] || break; done
echo "# ended with$codes"
after=$(find "$work/again/o/.windlass" -path '*/commit/*' -exec cat {} + | grep -c '^\["d"')
check "run anew with the pictures repaired it succeeds" [ "$code $(words again .items.done)" = "0 12" ]
check "all of them are there" [ "$(made again)" = 12 ]
check "and what was done is not done again ($before, then 2 more and one of what has changed: $after)" [ "$before $after" = "1 4" ]
show again
exit $((failures > 0))
