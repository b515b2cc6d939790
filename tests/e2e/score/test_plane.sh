#!/usr/bin/env bash
# The data plane with real processes of this machine: one coordinator, workers, and their
# failures: kill -9, hangs, wrong secrets, garbage, a coordinator that is replaced, signals.
#   SOAK_ROUNDS: in a soak also a coordinator's node that is lost, which takes five minutes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
agent=$(realpath "${AGENT:-${BUILD:-build}/windlass-agent}")
work=$(mktemp -d)
declare -A pid=() # role -> process; all are ended with the script
cleanup() {
    for p in "${pid[@]}"; do kill -CONT "$p" 2>/dev/null; kill -9 "$p" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

# Networks written field by field: one that changes nothing (Relu of bytes), one whose output is not a
# number (the root of a negative; but not for black, on which a network is tried).
python3 - "$work" <<'PY'
import sys
def field(n, data): return bytes([n << 3 | 2, len(data)]) + data
def value(name):
    dim = lambda d: field(1, bytes([1 << 3, d]) if isinstance(d, int) else field(2, d))
    shape = field(2, dim(b"n") + dim(3) + dim(b"h") + dim(b"w"))
    return field(1, name) + field(2, field(1, bytes([1 << 3, 1]) + shape))
def model(name, *nodes):
    nodes = b"".join(field(1, field(1, i) + field(2, o) + field(4, op)) for i, o, op in nodes)
    graph = nodes + field(2, b"g") + field(11, value(b"x")) + field(12, value(b"y"))
    data = bytes([1 << 3, 7]) + b"\x3a" + bytes([len(graph) & 127 | 128, len(graph) >> 7]) + graph
    open(f"{sys.argv[1]}/{name}.onnx", "wb").write(data + field(8, bytes([2 << 3, 13])))
model("relu", (b"x", b"y", b"Relu"))
model("root", (b"x", b"z", b"Neg"), (b"z", b"y", b"Sqrt"))
PY
make_certificate "$work" || exit 3
ffmpeg -v error -f lavfi -i testsrc=size=640x480:rate=25 -frames:v 150 -g 25 -pix_fmt yuv420p \
    -f mp4 "$work/in.mp4" || exit 3
frames=150
port=$(first_port)

# The environment of a pod: spec [timeoutSeconds] [input] [model]; JOB makes a separate folder.
spec() {
    jq -cn --argjson timeout "${1:-60}" --arg input "${2:-data/in.mp4}" --arg model "${3:-data/relu.onnx}" \
        --arg type "${type:-Image}" --argjson tries "${tries:-3}" '{input: {video: {path: $input}}, miniBatchSize: "7",
         scorer: {onnx: {path: $model, postprocess: {type: $type}}}, output: {path: "out/painted"},
         retry: {maxTries: $tries, timeoutSeconds: $timeout}}'
}
pod() { # job, role name, subcommand, spec; more variables as NAME=VALUE
    local job=$1 name=$2 command=$3 spec=$4
    shift 4
    mkdir -p "$work/$job"
    env data="$work" out="$work/$job" WINDLASS_JOB="$job" WINDLASS_RUN=0123456789abcdef WINDLASS_UID="uid-of-$job" \
        WINDLASS_SPEC="$(batchscore_spec "$spec")" WINDLASS_TOKEN=secret WINDLASS_WORKER="$name" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" \
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_BIND="127.0.0.1:$port" \
        WINDLASS_COORDINATOR="127.0.0.1:$port" WINDLASS_COORDINATOR_SHA256="$sha256" \
        WINDLASS_TERMINATION_LOG="$work/$job/$name.words" "$@" \
        "$agent" "$command" 2>>"$work/$job/$name.log" &
    pid[$name]=$!
}
# A worker that went on would visit the coordinators of later jobs.
ended() { # name, seconds: waits for the end and sets code; a process that does not end is killed, and gives 99
    local end=$((SECONDS + $2))
    while kill -0 "${pid[$1]}" 2>/dev/null && [ $SECONDS -lt $end ]; do
        nap 0.1
    done
    code=99
    if kill -0 "${pid[$1]}" 2>/dev/null; then kill -9 "${pid[$1]}"; wait "${pid[$1]}" 2>/dev/null; else wait "${pid[$1]}"; code=$?; fi
    unset "pid[$1]"
}
progress() { curl -sk --max-time 2 "https://127.0.0.1:$port/progress" | jq -r "$1" 2>/dev/null; }
runs() { [ "$(progress .state)" = Running ]; }
some_done() { [ "$(progress .items.done)" -gt 0 ] 2>/dev/null; }
summary() { jq -r "$2" "$work/$1/painted/summary.json"; }
words() { jq -r "$2" "$work/$1/coordinator.words"; }
# The commits remain; tries and partial files do not.
no_temporaries() { [ -z "$(find "$work/$1" -path '*/try/*' -o -path '*/join/*' -o -name '.windlass-tmp-*')" ]; }
hides() { ! tr '\0' '\n' <"/proc/$1/environ" | grep -q 'secret\|PRIVATE KEY'; }
all_frames() { [ "$(count_frames "$work/$1/painted/in.mp4")" = $frames ]; }
show() { [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -n 8 "$work/$1"/*.log | sed 's/^/# /'; }; }

##### all goes well ##############################################################################
pod plain coordinator coordinate "$(spec)" WINDLASS_SIGNING_KEY="$(openssl genpkey -algorithm ed25519 2>/dev/null)" \
    WINDLASS_IMAGES='{"agent": "registry.test/agent@sha256:0123"}'
until_true 60 runs
check "token and keys are out of the coordinator's environment" hides "${pid[coordinator]}"
pod plain worker-0 score "$(spec)"
pod plain worker-1 score "$(spec)"
ended coordinator 60
check "a job on two workers succeeds" [ $code -eq 0 ]
ended worker-0 60
first=$code
ended worker-1 60
check "the workers leave with 0" [ $first$code = 00 ]
check "every frame is there, uneven split and all" all_frames plain
check "the summary counts them" [ "$(summary plain .items.done)" = $frames ]
check "the last words are the outcome" [ "$(words plain .state,.summary | xargs)" = "Succeeded out/painted/summary.json" ]
check "nothing is left of the parts" no_temporaries plain
show plain

check "the summary names the model by its SHA-256" \
    [ "$(summary plain '.files["scorer.onnx.path"]')" = "$(sha256sum "$work/relu.onnx" | cut -d' ' -f1)" ]
check "and result.json names the pods' images" \
    [ "$(jq -r .images.agent "$work/plain/painted/result.json")" = registry.test/agent@sha256:0123 ]

##### the model is replaced while the job runs, and a worker starts again ########################
cp "$work/relu.onnx" "$work/swapped.onnx"
pod swap coordinator coordinate "$(spec 60 data/in.mp4 data/swapped.onnx)"
until_true 60 runs
pod swap worker-0 score "$(spec 60 data/in.mp4 data/swapped.onnx)"
until_true 60 some_done
cp "$work/root.onnx" "$work/other.onnx"
mv "$work/other.onnx" "$work/swapped.onnx"
kill -9 "${pid[worker-0]}"
ended worker-0 60
pod swap worker-0 score "$(spec 60 data/in.mp4 data/swapped.onnx)"
ended coordinator 60
check "a job whose model was replaced while it ran fails" [ $code -eq 1 ]
check "and says which file, and both SHA-256" \
    grep -qE "spec.scorer.onnx.path changed while the job ran: worker worker-0 has loaded a file with SHA-256 $(
        sha256sum "$work/root.onnx" | cut -c1-12), the run began with $(sha256sum "$work/relu.onnx" | cut -c1-12)" \
    <(words swap .message)
check "no output is made of two models" [ ! -e "$work/swap/painted/in.mp4" ]
ended worker-0 60
cp "$work/relu.onnx" "$work/swapped.onnx"
pod swap coordinator coordinate "$(spec 60 data/in.mp4 data/swapped.onnx)" WINDLASS_UID=again
until_true 60 runs
pod swap worker-0 score "$(spec 60 data/in.mp4 data/swapped.onnx)"
ended coordinator 60
check "with the model of its beginning the run goes on and succeeds" [ $code -eq 0 ]
ended worker-0 60
show swap

##### a worker that starts again is of another build, as when its image's tag was moved ############
pod built coordinator coordinate "$(spec)"
until_true 60 runs
pod built worker-0 score "$(spec)"
until_true 60 some_done
kill -9 "${pid[worker-0]}"
ended worker-0 60
cp "$agent" "$work/windlass-agent" && echo >>"$work/windlass-agent"
agent=$work/windlass-agent pod built worker-0 score "$(spec)"
ended worker-0 60
ended coordinator 60
check "two builds of one version have scored: the job succeeds" [ $code -eq 0 ]
check "result.json names both" [ "$(jq -r '.workerPrograms[].sha256' "$work/built/painted/result.json" | sort | xargs)" = \
    "$(sha256sum "$agent" "$work/windlass-agent" | cut -d' ' -f1 | sort | xargs)" ]
check "summary and status say so" [ "$(summary built .lost[0].what) $(words built .lost[0].why | cut -d: -f1)" = "a single build of Windlass its workers ran 2 builds of Windlass" ]
show built

##### a coordinator after the end: its pod was gone before anybody read its outcome ##############
before=$(stat -c %Y.%i "$work/plain/painted/in.mp4")
pod plain late coordinate "$(spec)"
ended late 60
check "a coordinator that starts after the end leaves at once, with 0" [ $code -eq 0 ]
same_words() { # job, two names: the outcome is the same; workers and abilities of the storage may differ
    cmp -s <(jq -S 'del(.workers, .exclusive)' "$work/$1/$2.words") <(jq -S 'del(.workers, .exclusive)' "$work/$1/$3.words")
}
check "its last words are those of the first" same_words plain coordinator late
check "it makes nothing anew" [ "$(stat -c %Y.%i "$work/plain/painted/in.mp4")" = "$before" ]
runs_again() { # job, why; more variables
    local job=$1 why=$2
    shift 2
    pod "$job" again coordinate "$(spec)" "$@"
    check "$why" until_true 60 sh -c "grep -qs 'mini-batches' '$work/$job/again.log'"
    kill "${pid[again]}"
    ended again 60
    rm -f "$work/$job/again.log"
}
pod plain anew coordinate "$(spec)" WINDLASS_UID=another
ended anew 60
check "the same job applied anew has nothing to do, and says so" \
    [ "$code $(jq -r .state,.message "$work/plain/anew.words" | xargs)" = "0 Succeeded nothing to do: an earlier run has finished this job" ]
check "and makes nothing anew" [ "$(stat -c %Y.%i "$work/plain/painted/in.mp4")" = "$before" ]
mv "$work/plain/painted/in.mp4" "$work/plain/in.mp4"
runs_again plain "without its output there is no end"
check "and nothing says that it is whole" [ ! -e "$work/plain/painted/result.json" ]
mv "$work/plain/in.mp4" "$work/plain/painted/in.mp4"
runs_again plain "a stopped coordinator has not ended the run"
pod plain whole coordinate "$(spec)"
pod plain worker-2 score "$(spec)"
ended whole 60
ended worker-2 60
holds() { "$e2e_windlass" verify "$work/$1/painted" >"$work/$1/verified" 2>&1 || { sed 's/^/# /' "$work/$1/verified"; false; }; }
check "the next one makes it whole" holds plain
runs_again plain "one of another job that is stopped early" WINDLASS_UID=third
check "leaves it as it is" holds plain
show plain

##### kill -9 in the middle ######################################################################
pod killed coordinator coordinate "$(spec)"
pod killed worker-0 score "$(spec)"
pod killed worker-1 score "$(spec)"
until_true 60 some_done
kill -9 "${pid[worker-0]}"
wait "${pid[worker-0]}" 2>/dev/null
ended coordinator 60
check "a worker killed in the middle does not fail the job" [ $code -eq 0 ]
check "it costs one retry ($(summary killed .miniBatches.retried)) and no failure" \
    [ "$(summary killed '.miniBatches.retried <= 1 and .miniBatches.failed == 0')" = true ]
check "and no frame" all_frames killed
ended worker-1 60
show killed

##### a worker that hangs ########################################################################
# One second: later another slot would run its mini-batch as well, without a time-out. Many tries, as on a busy machine
# good ones may take longer, too.
hung=$(tries=100 spec 1)
pod hung coordinator coordinate "$hung"
pod hung worker-0 score "$hung"
until_true 60 some_done
kill -STOP "${pid[worker-0]}"
pod hung worker-1 score "$hung"
ended coordinator 60
check "a worker that hangs loses its lease in time" [ $code -eq 0 ]
check "which counts as a time-out" [ "$(summary hung '[.workers[].timeouts] | add >= 1')" = true ]
check "and costs no frame" all_frames hung
# As if it had been stopped while storing a try, after the coordinator has tidied up.
mkdir -p "$work/hung/painted/.windlass/0123456789abcdef/try"
echo late >"$work/hung/painted/.windlass/0123456789abcdef/try/0-999"
kill -CONT "${pid[worker-0]}"
kill "${pid[worker-0]}"
ended worker-0 60
ended worker-1 60
check "nothing is left of what it had begun" no_temporaries hung
show hung

##### wrong secrets, garbage #####################################################################
pod strict coordinator coordinate "$(spec)"
until_true 60 runs
pod strict stranger score "$(spec)" WINDLASS_TOKEN=guess
ended stranger 60
check "a wrong token is refused" [ $code -eq 1 ]
pod strict doubter score "$(spec)" WINDLASS_COORDINATOR_SHA256="${sha256//[0-7]/8}"
until_true 60 grep -qs "another certificate" "$work/strict/doubter.log"
check "a coordinator with another certificate is not trusted" grep -q "another certificate" "$work/strict/doubter.log"
kill "${pid[doubter]}"
ended doubter 60
check "a worker that gets SIGTERM exits with 130" [ $code -eq 130 ]
python3 tests/e2e/score/garbage.py "$port" secret >"$work/garbage" 2>&1
check "garbage is refused, politely where it can be" [ $? -eq 0 ]
[ -s "$work/garbage" ] && sed 's/^/# /' "$work/garbage"
check "TLS 1.2 is refused" sh -c "! curl -sk --tls-max 1.2 https://127.0.0.1:$port/progress"
check "the coordinator goes on" [ "$(progress .state,.workers | xargs)" = "Running 0" ]
kill "${pid[coordinator]}"
ended coordinator 60
check "a coordinator that gets SIGTERM exits with 130" [ $code -eq 130 ]
check "its last words say what is kept" grep -q "Cancelled; the results of 0 of $frames items are kept" "$work/strict/coordinator.words"
show strict

##### the coordinator is replaced ################################################################
pod replaced coordinator coordinate "$(spec)"
pod replaced worker-0 score "$(spec)"
pod replaced worker-1 score "$(spec)"
until_true 60 some_done
kill -9 "${pid[coordinator]}"
wait "${pid[coordinator]}" 2>/dev/null
pod replaced coordinator coordinate "$(spec)"
ended coordinator 60
check "workers find a coordinator that was replaced" [ $code -eq 0 ]
check "which knows what was done before it, and by whom" [ "$(summary replaced '[.items.done, ([.workers[].items] | add)] | @csv')" = "$frames,$frames" ]
check "and lose no frame" all_frames replaced
ended worker-0 60
ended worker-1 60
check "nothing is left of the parts after that" no_temporaries replaced
show replaced

##### the coordinator's node is lost (in a soak) ##################################################
# Nothing is heard from it for the five minutes after which Kubernetes makes another pod: of one job from before its workers
# have come, of the other in mid-run.
if [ -n "${SOAK_ROUNDS:-}" ]; then
    at=$port
    pod young coordinator coordinate "$(spec)"
    until_true 60 runs
    kill -STOP "${pid[coordinator]}"
    pod young worker-0 score "$(spec)"
    port=$((at + 2))
    pod older older coordinate "$(spec)"
    pod older worker-1 score "$(spec)"
    until_true 60 some_done
    kill -STOP "${pid[older]}"
    sleep 300
    check "their workers wait for a coordinator for 300 s" kill -0 "${pid[worker-0]}" "${pid[worker-1]}"
    kill -9 "${pid[coordinator]}" "${pid[older]}"
    wait "${pid[coordinator]}" "${pid[older]}" 2>/dev/null
    pod older older coordinate "$(spec)"
    port=$at
    pod young coordinator coordinate "$(spec)"
    for job in young:coordinator:worker-0 older:older:worker-1; do
        IFS=: read -r job name worker <<<"$job"
        ended "$name" 60
        check "a $job job outlives the loss of its coordinator's node" [ $code -eq 0 ]
        check "and loses no frame" all_frames "$job"
        ended "$worker" 60
        check "its worker leaves with 0" [ $code -eq 0 ]
        show "$job"
    done
fi

##### two coordinators of one job: the first stood still while it was replaced ####################
pod two coordinator coordinate "$(spec)"
pod two worker-0 score "$(spec)"
until_true 60 some_done
kill -STOP "${pid[coordinator]}"
kill -9 "${pid[worker-0]}"
wait "${pid[worker-0]}" 2>/dev/null
at=$port
port=$((port + 1)) # the first still holds the port; in a cluster it would have another address
pod two newer coordinate "$(spec)"
pod two worker-1 score "$(spec)"
until_true 60 some_done
port=$at
pod two worker-2 score "$(spec)"
kill -CONT "${pid[coordinator]}"
ended coordinator 30
first=$code
ended newer 60
check "the newer coordinator of a job ends it, although the first holds the lock" [ $code -eq 0 ]
check "the first has found out and leaves without a verdict ($first)" [ $first -eq 3 ]
check "the summary is the newer one's" [ "$(summary two .state)" = Succeeded ]
check "and every frame is there" all_frames two
ended worker-1 60
kill -9 "${pid[worker-2]}" 2>/dev/null # it knows only the first one's address, where the next job will listen
wait "${pid[worker-2]}" 2>/dev/null
unset "pid[worker-2]"
check "nothing is left of the parts of either" no_temporaries two
show two

##### what is wrong with the job is said in one line ###########################################
refused() { # name, spec, the text that the line must have
    local started=$SECONDS
    pod "$1" coordinator coordinate "$2"
    ended coordinator 60
    check "$1: exit code 2 at once" [ $code -eq 2 -a $((SECONDS - started)) -le 25 ]
    check "$1: $(words "$1" .message)" sh -c "jq -r .message '$work/$1/coordinator.words' | grep -q -- '$3'"
    check "$1: the state is Failed" [ "$(words "$1" .state)" = Failed ]
    show "$1"
}
head -c 20000 "$work/in.mp4" >"$work/cut.mp4"
: >"$work/empty.onnx"
refused no-input "$(spec 60 data/none.mp4)" "spec.input.video.path"
refused cut-input "$(spec 60 data/cut.mp4)" "spec.input.video.path"
refused no-model "$(spec 60 data/in.mp4 data/none.onnx)" "spec.scorer.onnx.path"
refused empty-model "$(spec 60 data/in.mp4 data/empty.onnx)" "spec.scorer.onnx.path"
refused outside "$(spec 60 data/../../etc/passwd)" "spec.input.video.path"
refused no-classes "$(type=Classes spec)" "postprocess type Classes needs float32"
mkdir -p "$work/no-output" && touch "$work/no-output/painted"
refused no-output "$(spec)" "spec.output.path"

##### a mini-batch that fails ####################################################################
pod failing coordinator coordinate "$(spec 60 data/in.mp4 data/root.onnx)"
pod failing worker-0 score "$(spec 60 data/in.mp4 data/root.onnx)"
ended coordinator 60
check "a network whose output is not a picture fails the job" [ $code -eq 1 ]
check "$(words failing .message)" sh -c "jq -r .message '$work/failing/coordinator.words' | grep -q '3 tries'"
check "no video is made of it" [ ! -e "$work/failing/painted/in.mp4" ]
check "the summary lists what failed" [ "$(summary failing '.failed[0].worker')" = worker-0 ]
ended worker-0 60
pod failing late coordinate "$(spec 60 data/in.mp4 data/root.onnx)"
ended late 60
check "a failure stays one, too" [ $code -eq 1 ]
check "with the same last words" same_words failing coordinator late
show failing

##### files, one of them broken ##################################################################
mkdir -p "$work/photos/more"
for i in 1 2 3; do
    ffmpeg -v error -f lavfi -i testsrc=size=$((90 + i))x61:rate=1 -frames:v 1 "$work/photos/$i.png"
    cp "$work/photos/$i.png" "$work/photos/more/$i.png"
done
files='{input: {files: {path: "data/photos"}}, miniBatchSize: 4, scorer: {onnx: {path: "data/relu.onnx",
    preprocess: {multipleOf: 4}}}, output: {path: "out/painted"}, retry: {maxTries: 2, timeoutSeconds: 60}}'
files=$(jq -cn "$files")
pod files coordinator coordinate "$files"
pod files worker-0 score "$files"
ended coordinator 30
check "a folder of pictures succeeds" [ $code -eq 0 ]
same=0
for i in 1 2 3 more/1 more/2 more/3; do
    cmp -s <(ffmpeg -v error -i "$work/photos/$i.png" -f rawvideo -pix_fmt rgb24 -) \
        <(ffmpeg -v error -i "$work/files/painted/$i.png" -f rawvideo -pix_fmt rgb24 -) && same=$((same + 1))
done
check "every picture came through a network that changes nothing ($same of 6)" [ $same -eq 6 ]
ended worker-0 60
head -c 300 "$work/photos/2.png" >"$work/photos/more/2.png"
pod broken coordinator coordinate "$files"
pod broken worker-0 score "$files"
ended coordinator 30
check "a broken picture fails the job" [ $code -eq 1 ]
check "$(words broken .message)" sh -c "jq -r .message '$work/broken/coordinator.words' | grep -q 'more/2.png.*2 tries'"
check "the results of the other mini-batch stay" [ -s "$work/broken/painted/1.png" ]
ended worker-0 60
show files
show broken
exit $((failures > 0))
