#!/usr/bin/env bash
# A job's input and output on a mount that fails: EIO, ESTALE, ENOTCONN, calls that never return, a mount whose
# process is killed. tests/fuse/sick.c stands in for blobfuse: no link(), no exclusive creation. With one try for each
# mini-batch, so that any counted try would fail the job: the output is byte for byte that of an undisturbed run, and
# a worker on a dead mount leaves, or never takes work. The suite of stores runs there, too. Parts run side by side, as
# most of the time is waiting. `make test` draws three of five parts, an error of three and a file of two; a soak
# (SOAK_ROUNDS) has all of them, and parts that take minutes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
skip() { echo "skip fuse: $1"; exit 0; }
[ -c /dev/fuse ] || skip "this machine has no /dev/fuse"
[ "$(id -u)" = 0 ] || skip "only root may mount without fusermount3"
build=$(realpath "${BUILD:-build}")
(. tests/cluster/lib.sh && need_packages libfuse3-dev) || exit 3
make -s BUILD="${BUILD:-build}" "${BUILD:-build}"/tests/{fuse/sick,conformance/test_store} >/dev/null || { echo "not ok fuse: make"; exit 1; }
top=$(mktemp -d)
work=$top
declare -A pid=()
ours() { jobs -p; grep -lsF "$top/" /proc/[0-9]*/cmdline | cut -d/ -f3; }
cleanup() {
    # shellcheck disable=SC2046 # several numbers
    kill $(ours)
    sleep 0.2
    kill -9 $(ours)
    wait
    grep -oE " $top/[a-z/]*\.mount " /proc/mounts | xargs -r umount -l
    rm -rf --one-file-system "$top"
} 2>/dev/null
trap cleanup EXIT
is_mounted() { grep -qF " $work/$1.mount " /proc/mounts; }
# mount NAME [MODE]: $work/NAME.mount shows $work/data, and fails as $work/NAME.control says.
mount_sick() {
    mkdir -p "$work/data" "$work/$1.mount"
    echo "${2:-well}" >"$work/$1.control"
    "$build/tests/fuse/sick" "$work/data" "$work/$1.mount" "$work/$1.control" 2>>"$work/sick.log" &
    pid[$1]=$!
    for _ in $(seq 200); do
        is_mounted "$1" && return
        kill -0 "${pid[$1]}" 2>/dev/null || return 1
        nap 0.02
    done
    return 1
}
say() { echo "$2" >"$work/$1.new" && mv "$work/$1.new" "$work/$1.control"; }
mount_sick probe || skip "nothing can be mounted here: $(tail -1 "$work/sick.log")"

mkdir -p "$work/data/in" "$work/model"
python3 tests/data/models/make.py "$work/model"
# 300 pictures that all differ.
python3 - "$work/data/in" <<'P'
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(300):
    rows = b"".join(b"\0" + bytes((i * 7 + y * 31 + x * 13 + c * (i >> 8)) & 255 for x in range(32) for c in range(3)) for y in range(32))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    open(f"{sys.argv[1]}/{i:05d}.png", "wb").write(png)
P
cat >"$work/job.yaml" <<'M'
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: ill}
spec:
  input: {files: {path: data/in}}
  scorer: {onnx: {path: model/invert.onnx}}
  output: {path: data/out}
  miniBatchSize: 1
  retry: {maxTries: 1, timeoutSeconds: 6}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
# own NAME: gives the following part a separate folder with the same pictures, and a mount of it.
own() {
    mkdir "$work/$1"
    cp -r "$work"/{data,model,job.yaml} "$work/$1/"
    work=$work/$1
    mount_sick fuse || exit 1
}
launch() { # path of the data, seconds
    discard "$work/data/out" "$work/state"
    timeout "${2:-120}" "$build/windlass" run -f "$work/job.yaml" --volume "data=$1" --state "$work/state" >"$work/log" 2>&1 </dev/null &
    run=$!
}
output() { (cd "$work/data/out" && find . -type f -name '*.png' ! -path './.windlass/*' -exec sha256sum {} + | sort -k 2); }
# Each cell once, at its first try.
commits_add_up() {
    python3 - "$work/data/out/.windlass" <<'P'
import glob, json, sys
done = []
for name in sorted(glob.glob(sys.argv[1] + "/*/commit/*")):
    head, *records, end = [json.loads(line) for line in open(name)]
    done += [(r[1], r[6]) for r in records if r[0] in "dpf"]
    if any(r[0] in "pf" for r in records):
        sys.exit("a mini-batch has failed")
sys.exit(0 if sorted(done) == [(cell, 1) for cell in range(300)] else f"{len(done)} records, tries {set(t for _, t in done)}")
P
}
committed() { grep -qs '^\["d"' "$work"/data/out/.windlass/*/commit/*; }
ends_well() { # name, what the workers must have reported
    wait $run
    local code=$?
    holds() { "$@" || { echo "# not so: $*"; fine=; }; }
    local fine=yes
    holds [ $code -eq 0 ]
    holds diff -q <(output) "$top/quiet"
    holds commits_add_up
    holds "$build/windlass" verify "$work/data/out" >"$work/verified"
    [ -z "${2:-}" ] || holds grep -qE -- "$2" "$work"/state/*worker*.log
    [ -n "$fine" ] || { tail -5 "$work/log"; tail -qn 8 "$work"/state/*.log; } | sed 's/^/# /'
    check "$1" [ -n "$fine" ]
}
# In the middle of a job: when something is committed.
middle() { for _ in $(seq 1000); do committed && return; nap 0.01; done; }

launch "$work/data"
wait $run
output >"$work/quiet"
check "a quiet run on the disk: 300 pictures" [ "$(wc -l <"$work/quiet")" = 300 ]
discard "$work/data/out"

##### while a job runs #############################################################################
waited() {
    own waited
    say fuse "eio look 00150.png"
    launch "$work/fuse.mount"
    wait $run
    check "a file that a listing cannot look at is not left out (code $?)" grep -qE 'ill failed: spec.input.files.path: data/in.*Input/output error' "$work/log"
    say fuse well
    launch "$work/fuse.mount"
    ends_well "on FUSE: the same bytes"
    draw "errors" 1 eio estale enotconn
    for trouble in "eio:Input/output error" "estale:Stale file handle" "enotconn:Transport endpoint is not connected"; do
        is_drawn "${trouble%%:*}" || continue
        launch "$work/fuse.mount"
        middle
        say fuse "${trouble%%:*} data"
        sleep 1.2
        say fuse well
        ends_well "${trouble#*:} where bytes are read and written, for 1.2 s: waited out" "try 1: .*${trouble#*:}"
    done
}
whole() {
    own whole
    launch "$work/fuse.mount"
    middle
    say fuse eio
    sleep 1.2
    say fuse well
    ends_well "Input/output error of the whole mount, for 1.2 s: workers leave, others come" 'a storage cannot be reached'
}
hang() {
    own hang
    # A try has much longer than a worker takes to see that its mount hangs (10 s), whatever else the machine does.
    sed -i 's/timeoutSeconds: 6}/timeoutSeconds: 600}/' "$work/job.yaml"
    launch "$work/fuse.mount" 300
    middle
    say fuse hang
    until grep -qs 'does not respond within' "$work"/state/*worker*.log || ! kill -0 $run 2>/dev/null; do sleep 0.1; done
    say fuse well
    ends_well "a mount that hangs until a worker says so" 'does not respond within'
}
killed() {
    own killed
    launch "$work/fuse.mount"
    middle
    kill -9 "${pid[fuse]}"
    wait "${pid[fuse]}" 2>/dev/null
    sleep 1
    umount -l "$work/fuse.mount"
    mount_sick fuse
    ends_well "a mount whose process is killed, and mounted again after 1 s" 'a storage cannot be reached'
}
coordinator() {
    own coordinator
    launch "$work/fuse.mount"
    middle
    kill -9 "$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ | xargs grep -lsF WINDLASS_BIND= | cut -d/ -f3)"
    ends_well "a coordinator killed where nothing excludes another"
}

# Files that describe a job, which no other file waits for: until they can be written the job has not succeeded.
is_there() { [ -e "$work/state/ill-coordinator-$1.log" ]; }
until_there() { until is_there "$1" || ! kill -0 $run 2>/dev/null; do nap 0.1; done; }
told() {
    own told
    draw "files on a full disk" 1 report.html summary.json
    for name in "${drawn[@]}"; do
        say fuse "enospc $name"
        launch "$work/fuse.mount"
        until_there 3
        check "$name on a full disk: a third coordinator tries" is_there 3
        check "and until it is written there is no summary" [ ! -e "$work/data/out/summary.json" ]
        say fuse well
        ends_well "then the job succeeds"
        check "with its report and summary" [ "$(jq -r '"\(.state) \(.report) \(.items.done)"' "$work/data/out/summary.json")$(grep -c '</html>' "$work/data/out/report.html")" = "Succeeded true 3001" ]
        check "those that failed said why and exited with 3" \
            grep -q "all items are done, but the report or summary cannot be written: .*data/out/$name: No space left on device" "$work/state/ill-coordinator-1.log"
    done
}
# The same for outputs that are assembled from commits.
made() {
    own made
    sed -i 's/invert.onnx}/classes.onnx, postprocess: {type: Classes}}/; s/path: data.out}/path: data\/out, mode: AppendRow}/' "$work/job.yaml"
    say fuse "enospc rows.txt"
    launch "$work/fuse.mount"
    until_there 3
    check "rows on a full disk: a third coordinator tries" is_there 3
    say fuse well
    wait $run
    check "then they are there, and the job has succeeded" [ "$? $(wc -l <"$work/data/out/rows.txt")" = "0 300" ]
    check "each at its first try" commits_add_up
}
# As often as a coordinator may die.
untold() {
    own untold
    say fuse "eio report.html"
    launch "$work/fuse.mount" 600
    wait $run
    check "for good: the job fails after ten coordinators (code $?)" is_there 10
    check "with a plain cause" grep -q 'ill failed: all items are done, but the report or summary cannot be written: .*report.html: Input/output error' "$work/log"
    tail -n 5 "$work/log" | sed 's/^/# /'
}

##### before work is taken #########################################################################
# pods_at PORT: pods are started by hand from here on, at that port.
pods_at() {
    make_certificate "$work" || exit 3
    port=$1
    spec_schema crds/batchscore.yaml "$work/schema.json" || exit 3
    spec=$(fill_spec "$work/schema.json" '{"input": {"files": {"path": "data/in"}}, "miniBatchSize": 10,
        "output": {"path": "data/o", "mode": "PerFile"}, "scorer": {"onnx": {"path": "model/invert.onnx"}},
        "retry": {"maxTries": 1, "timeoutSeconds": 60}}')
}
pod() { # name, role, mount, seconds
    env data="$work/$3.mount" model="$work/model" WINDLASS_JOB=ill WINDLASS_RUN=0123456789abcdef WINDLASS_UID=u \
        WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="$1" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
        WINDLASS_BIND="127.0.0.1:$port" WINDLASS_COORDINATOR="127.0.0.1:$port" WINDLASS_COORDINATOR_SHA256="$sha256" \
        WINDLASS_TERMINATION_LOG="$work/$1.words" timeout "${4:-60}" "$build/windlass-agent" "$2" 2>>"$work/$1.log" &
    pid[$1]=$!
}
leaves() { wait "${pid[$1]}"; code=$?; }
before() {
    own before
    pods_at "$(first_port)"
    mount_sick hung hang
    mount_sick dead
    kill -9 "${pid[dead]}"
    port=$((port + 1)) # a coordinator listens before it looks at its volumes
    pod waits coordinate hung
    answers() { curl -sk -m 5 "https://127.0.0.1:$port/healthz" | grep -q ok; }
    for _ in $(seq 100); do
        answers && break
        nap 0.05
    done
    check "its liveness probe is answered while the mount hangs" answers
    check "which is the case" kill -0 "${pid[waits]}"
    port=$((port - 1))
    pod deaf score hung
    pod lost coordinate dead
    leaves lost
    check "a coordinator on a dead mount ends with 3 and says why" [ $code -eq 3 ]
    check "in its termination message" grep -q 'volume: data: Transport endpoint is not connected' "$work/lost.words"
    pod c coordinate fuse
    pod dead score dead
    leaves dead
    check "a worker on a dead mount leaves with 3" [ $code -eq 3 ]
    leaves deaf
    check "on a mount that hangs, too" [ $code -eq 3 ]
    check "and says which" grep -q 'volume: data: the storage does not respond' "$work/deaf.log"
    [ $failures -eq 0 ] || tail -n 5 "$work/deaf.log" "$work/waits.log" | sed 's/^/# /'
    leaves waits
    check "so does a coordinator" [ $code -eq 3 ]
    pod w score fuse
    leaves c
    check "the worker that can work does everything" [ "$code $(jq -r .items.done "$work/data/o/summary.json")" = "0 300" ]
    check "and there was no other worker" [ "$(jq -r '.workers[].name' "$work/data/o/summary.json")" = w ]
    check "nothing excludes, and it says so" [ "$(jq .exclusive "$work/c.words")" = false ]
}

# A coordinator waits for a hanging storage as long as for a failing one.
forever() {
    own forever
    pods_at "$(($(first_port) + 8))"
    pod c coordinate fuse 400
    for _ in $(seq 100); do
        grep -qs 'mini-batches' "$work/c.log" && break
        nap 0.1
    done
    say fuse hang
    local start=$SECONDS
    sleep 100
    check "a coordinator whose mount has been hanging for 100 s answers its liveness probe" \
        sh -c "curl -sk -m 5 https://127.0.0.1:$port/healthz | grep -q ok"
    leaves c
    check "a coordinator whose mount hangs for good leaves after 5 min ($((SECONDS - start)) s, with $code)" \
        test $code -eq 3 -a $((SECONDS - start)) -ge 295
    check "and its termination message names the volume" grep -q 'volume: data: the storage does not answer within 300 s' "$work/c.words"
    say fuse well
}

##### the suite of stores ########################################################################
suite() {
    own suite
    rm -rf "$work/data/in"
    timeout 200 "$build/tests/conformance/test_store" "$work/fuse.mount" >"$work/suite" 2>&1
    check "stores: every test of the suite" [ $? -eq 0 ]
    sed 's/^ok /ok on FUSE: /' "$work/suite"
}

draw "parts" 3 whole hang killed coordinator made
side_by_side suite waited "${drawn[@]}" told before ${SOAK_ROUNDS:+forever untold}
builtin exit $((failures > 0)) # without a look for results, which would wait for mounts that hang (ends_well verifies them)
