#!/usr/bin/env bash
# Samples that cannot be used: named with file and row; Fail ends the job at once with the reason BadData, told apart from
# a training that diverges; Skip trains without them: 1, 3 and a killed start agree, and the count is in log and status.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
(. tests/cluster/lib.sh && need_packages python3-numpy python3-pil python3-yaml) || exit 3
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trainer=$work/trainer
make_trainer "$work" "$build/windlass-trainer" || exit 3
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
export data=$work/data out=$work/out WINDLASS_JOB=bad WINDLASS_RUN=00000000000000aa WINDLASS_THREADS=2
mkdir -p "$data" "$out"
/usr/bin/python3 - "$data" <<'P' || exit 3
import os, sys
import numpy as n
from PIL import Image
folder, random = sys.argv[1], n.random.default_rng(3)
for part, count in (("photos", 40), ("tests", 12)):
    for kind in range(2):
        os.makedirs(f"{folder}/{part}/{'ab'[kind]}")
        for i in range(count):
            pixels = random.integers(0, 120, (12, 12, 3)).astype("u1") + n.uint8(130 * kind)
            Image.fromarray(pixels).save(f"{folder}/{part}/{'ab'[kind]}/{i:02}.{'png' if i % 2 else 'jpg'}", quality=95)
photos = folder + "/photos"
whole = open(photos + "/a/04.jpg", "rb").read()
open(photos + "/a/04.jpg", "wb").write(whole[:100])      # cut
open(photos + "/b/07.png", "wb").write(b"GIF89a, not")   # another format
open(photos + "/b/08.jpg", "wb").write(b"")              # empty
open(folder + "/tests/b/03.png", "wb").write(b"\x89PNG\r\n\x1a\n")
Image.fromarray(pixels).save(photos + "/a/x.gif")
open(photos + "/a/notes.txt", "w").write("no picture")
x = random.normal(size=(60, 1, 6, 6)).astype("f8")
n.save(folder + "/x.npy", x)
n.save(folder + "/y.npy", n.arange(60) % 3)
shares = random.random((60, 3)).astype("f4")
shares[0], shares[1] = 0, 1
n.save(folder + "/shares.npy", shares)
shares[31, 2], shares[50, 0] = 1.5, -0.25
n.save(folder + "/beyond.npy", shares)
x[17, 0, 2, 3] = n.nan
x[44, 0, 1, 1] = 1e300  # overflows float32
n.save(folder + "/nan.npy", x)
x[0, 0, 0, 0] = n.nan
n.save(folder + "/first.npy", x)
P
# spec OUTPUT DATA [MORE]
spec() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"new": "MLP", "classes": 3, "shape": %s}, "data": {%s}, "epochs": %s, "batchSize": 16,
        "optimizer": {"learningRate": "%s"}, "loss": "%s", "output": {"path": "out/%s"}}}' "${shape:-[3, 12, 12]}" "$2" "${epochs:-3}" "${rate:-0.01}" \
        "${loss:-CrossEntropy}" "$1")
    export WINDLASS_SPEC
}
mpi() { timeout -k 5 300 mpirun --oversubscribe --bind-to none "$@"; }
photos='"augment": {"size": 12}, "train": {"folder": {"path": "data/photos"}}, "test": {"folder": {"path": "data/tests"}}'
skip='"onBadSample": "Skip", "maxBadSamples"'
says() { grep -qE "$2" "$work/$1.log" || { tail -4 "$work/$1.log" | sed 's/^/# /'; return 1; }; }
ends() { # NAME CODE
    timeout 300 "$trainer" train >"$work/$1.log" 2>&1
    local code=$?
    [ $code -eq "$2" ] || { echo "# code $code"; tail -4 "$work/$1.log" | sed 's/^/# /'; return 1; }
}
rows() { awk -F, 'NR > 1 && $6 != "" {print $1, $4, $5, $6, $7}' "$out/$1/metrics.csv"; }

spec fails "$photos"
check "without Skip a picture that is damaged ends the training, code 5" ends fails 5
check "and is named" says fails 'data/photos/(a/04.jpg|b/07.png|b/08.jpg): '
check "other files are counted by ending" says fails '^data.train: 2 files are left out: .*1 .gif, which is not read: make them JPEG or PNG \(such as a/x.gif\)'

spec skips "$photos, $skip: 3"
check "with Skip it trains" ends skips 0
named() {
    local name
    for name in a/04.jpg b/07.png b/08.jpg; do
        [ "$(grep -c "^rank 0: data.train: bad sample: data/photos/$name: " "$work/skips.log")" -eq 1 ] || { grep bad "$work/skips.log"; return 1; }
    done
}
check "each bad sample is named once, with the cause" named
check "and counted every epoch" [ "$(grep -c '^3 of 80 samples are bad; others took their places' "$work/skips.log")" -eq 3 ]
check "those to test with do not count" says skips '^1 of 24 samples of data.test are bad, and were not counted$'
three() {
    spec of-3 "$photos, $skip: 3"
    mpi -np 3 "$trainer" train >"$work/of-3.log" 2>&1 || { tail -3 "$work/of-3.log"; return 1; }
    paste -d' ' <(rows skips) <(rows of-3) | awk '
        function far(a, b) { return (a > b ? a - b : b - a) }
        far($2, $7) > 1e-5 * $2 || far($4, $9) > 1e-5 * $4 || $5 != $10 { print "# ", $0; bad = 1 }
        END { exit bad || NR != 3 }'
}
check "three ranks have the losses of one" three
check "and name and count the same" [ "$(grep -o 'bad sample: data/[a-z]*/[^:]*' "$work/of-3.log" | sort -u | tr '\n' ' ')" = \
    "$(grep -o 'bad sample: data/[a-z]*/[^:]*' "$work/skips.log" | sort -u | tr '\n' ' ')" ]
stopped_early() { # again, until the signal comes before the last epoch, which a busy machine may delay
    local pid line code
    for ((try = 0; try < 10; try++)); do
        discard "$out/again"
        timeout 300 "$trainer" train >"$work/pipe" 2>&1 &
        pid=$!
        while IFS= read -r line; do
            [ "${line#epoch 1 }" = "$line" ] || kill -TERM $pid
            echo "$line"
        done <"$work/pipe" >"$work/stopped.log"
        wait $pid
        code=$?
        [ $code -eq 0 ] || break
    done
    [ $code -ne 0 ] && says stopped '^epoch 1 ' && ! grep -q "^epoch $epochs " "$work/stopped.log"
}
resumed() { # the rest has the bits of the undisturbed one
    local epochs=12
    mkfifo "$work/pipe"
    spec long "$photos, $skip: 3"
    ends long 0 || return 1
    spec again "$photos, $skip: 3"
    stopped_early && ends again 0 && ! grep -q '^epoch 1 ' "$work/again.log" && cmp "$out/again/model.onnx" "$out/long/model.onnx"
}
check "a training that was stopped ends with the same bits" resumed
spec many "$photos, $skip: 2"
check "more than maxBadSamples end it" ends many 5
check "with the bound in the message" says many 'data.train: 3 bad samples, more than data.maxBadSamples \(2\)'
many3() {
    mpi -np 3 "$trainer" train >"$work/many3.log" 2>&1
    [ $? -eq 5 ] && says many3 'more than data.maxBadSamples'
}
check "three ranks end, too, at the same step" many3

shape='[1, 6, 6]'
numbers() { echo "\"train\": {\"tensors\": {\"samples\": \"data/$1.npy\", \"labels\": \"data/y.npy\"}}"; }
spec nan "$(numbers nan)"
check "a number that is none ends it with code 5" ends nan 5
check "with file, row and element" says nan 'data/nan.npy, labels data/y.npy: sample (17: element 15 is nan|44: element 7 is inf); a finite float32 is expected'
spec first "$(numbers first)"
check "also if it is of the first samples, which are looked at before the training" ends first 5
spec first "$(numbers first), $skip: 3"
check "and with Skip that is skipped, too" ends first 0
check "and named once" eval '[ "$(grep -c "bad sample: data/first.npy, labels data/y.npy: sample 0: element 0 is nan" "$work/first.log")" = 1 ]'
spec crowd "$(numbers x), $(numbers x | sed 's/train/test/')"
WINDLASS_THREADS=65 check "a machine with more processors than a loader has threads trains and evaluates" ends crowd 0
shares() { numbers x | sed "s/y.npy/$1.npy/"; } # TARGETS
loss=BinaryCrossEntropy spec beyond "$(shares beyond)"
check "a target beyond 0 to 1 of BinaryCrossEntropy ends it" ends beyond 5
check "named alike, with the loss" says beyond 'labels data/beyond.npy: sample (31: target 2 is 1.5|50: target 0 is -0.25); BinaryCrossEntropy takes numbers from 0 to 1'
loss=BinaryCrossEntropy spec shared "$(shares beyond), $(shares beyond | sed 's/train/test/'), $skip: 3"
check "with Skip it trains" ends shared 0
check "without these samples" says shared '^2 of 60 samples are bad; others took their places'
check "in the data to test with, too" says shared '^2 of 60 samples of data.test are bad, and were not counted$'
loss=BinaryCrossEntropy spec within "$(shares shares)"
check "0 and 1 themselves are targets" ends within 0
loss=MeanSquared spec squared "$(shares beyond)"
check "and another loss takes them all" ends squared 0
rate=1e30 spec diverges "$(numbers x)"
check "a training that diverges has code 1" ends diverges 1
check "and says that the data are finite" says diverges 'the loss of step [0-9]* is .*though all numbers of its samples are finite: the training diverges'

cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: job}
spec:
  workers: 2
  restart: {maxRestarts: 3, backoffSeconds: 0}
  trainer: {model: {new: MLP, classes: 3, shape: [1, 6, 6]}, data: {train: {tensors: {samples: data/nan.npy, labels: data/y.npy}}}, epochs: 2, batchSize: 8, output: {path: out/job}}
  volumes: [{name: data, hostPath: {path: $data}}, {name: out, hostPath: {path: $out}}]
M
job() { timeout 120 "$build/windlass" run -f "$work/job.yaml" --state "$work/$1.state" >"$work/$1.log" 2>&1 </dev/null; }
by_run() {
    job run
    [ $? -eq 1 ] && says run 'BadData|element (15 is nan|7 is inf)' && says run 'onBadSample: Skip' && ! grep -qE 'started again|round 2' "$work/run.log"
}
check "windlass run: the reason is the data, at the first round" by_run
sed -i 's/data: {train/data: {onBadSample: Skip, train/' "$work/job.yaml"
check "with Skip it succeeds" job skip
check "and says how many were left out" says skip '^job succeeded in .* 2 workers, 2 bad samples left out$'
check "and result.json counts them" [ "$(jq .counts.badSamples "$out/job/result.json")" = 2 ]
check "and its log names them" [ "$(grep -rh 'bad sample: data/nan.npy, labels data/y.npy: sample \(17\|44\): ' "$out/job/logs" | grep -o 'data/nan.*' | sort -u | wc -l)" -eq 2 ]
exit $((failures > 0))
