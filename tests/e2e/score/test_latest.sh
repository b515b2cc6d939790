#!/usr/bin/env bash
# A network that is named by `latest`, or by a link: the one that a run began with is the one of all its workers and of
# its later coordinators, whatever is registered meanwhile. A rerun says what has moved, and --restart takes it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
agent=$(realpath "${BUILD:-build}/windlass-agent")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
mkdir -p "$work/models/net" "$work/data/in"
for version in 7 8; do
    mkdir -p "$work/models/net/$version"
    "$agent" model new mlp --classes 3 --shape 1x2x2 --seed $version -o "$work/models/net/$version/model.onnx" >/dev/null
done
python3 - "$work/data/in/a.npy" <<'P'
import struct, sys
count = 6000
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 1, 2, 2), }}".encode()
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
values = [(i * 7 + i // 4 * 13) % 97 / 97 for i in range(count * 4)]
open(sys.argv[1], "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))
P
manifest() { # PATH-OF-THE-NETWORK OUTPUT
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: ${2}}
spec:
  input: {npy: {path: data/in}}
  scorer: {onnx: {path: models/$1/model.onnx, postprocess: {type: Values}}}
  output: {path: data/$2, mode: AppendRow}
  miniBatchSize: 1
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: models, persistentVolumeClaim: {claimName: models}}
M
}
launch() { timeout 120 "$windlass" run -f "$work/job.yaml" --state "$work/state" "$@" >"$work/log" 2>&1 </dev/null & run=$!; }
runs() {
    rm -rf "$work/state"
    launch "$@"
    wait $run
    code=$?
}
pods() { # VARIABLE that only these pods have
    grep -lsaz "^WINDLASS_JOB=$job\$" /proc/[0-9]*/environ | while IFS= read -r file; do
        pid=${file#/proc/}
        pid=${pid%/environ}
        grep -qsaz "^WINDLASS_$1=" "$file" && grep -qs windlass-agent "/proc/$pid/cmdline" && echo "$pid"
    done
}
rows() { sha256sum "$work/data/$1/rows.txt" | cut -d' ' -f1; }
says() { grep -qF -- "$1" "$work/log" "$work"/state/*.log; }
show() { [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -qn 8 "$work/log" "$work"/state/*.log | sed 's/^/# /'; }; }
for version in 7 8; do manifest net/$version wanted-$version; runs; done
check "two versions score differently" [ "$(rows wanted-7)" != "$(rows wanted-8)" ]

# What is newest or linked moves when the first results are stored; then coordinator and a worker are killed.
for way in latest link; do
    job=$way
    name=net/latest
    point() { echo "$1" >"$work/models/net/latest.new" && mv "$work/models/net/latest.new" "$work/models/net/latest"; }
    if [ $way = link ]; then
        name=current
        point() { ln -sfn "net/$1" "$work/models/current"; }
    fi
    manifest $name $way
    # On a busy machine the run may have come to its end before it is looked at: then once more.
    for _ in 1 2 3 4 5 6; do
        point 7
        discard "$work/state" "$work/data/$way"
        launch
        end=$((SECONDS + 60))
        until compgen -G "$work/data/$way/.windlass/*/commit/000000000001" >/dev/null || [ $SECONDS -ge $end ]; do nap 0.02; done
        coordinator=$(pods BIND) workers=$(pods COORDINATOR)
        kill -STOP $coordinator $workers
        point 8
        kill -9 $coordinator ${workers%%[!0-9]*}
        kill -CONT $workers 2>/dev/null
        wait $run
        code=$?
        ! says "this run goes on with what it began with" || break
    done
    check "$way: the run goes on with what it began with (code $code)" [ "$code $(rows $way)" = "0 $(rows wanted-7)" ]
    check "$way: it was in the middle" says "this run goes on with what it began with"
    check "$way: result.json says which" [ "$(jq -r ".paths[\"models/$name/model.onnx\"]" "$work/data/$way/result.json")" = models/net/7/model.onnx ]
    show
    runs
    check "$way: a rerun is refused (code $code)" [ $code = 2 ]
    [ $way = latest ] && said="latest is now 8, was 7" || said="leads to 8 now, led to 7"
    check "$way: and says what has moved" says "spec.scorer.onnx.path: $said: rerun with --restart"
    show
    runs --restart
    check "$way: --restart takes the newer one" [ "$code $(rows $way)" = "0 $(rows wanted-8)" ]
    runs
    check "$way: once more: nothing to do" says "nothing to do"
    show
done
exit $((failures > 0))
