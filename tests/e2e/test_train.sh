#!/usr/bin/env bash
# `windlass-trainer train`, started by hand and by the real mpirun: 1, 3 and 4 ranks of one batch follow each other over 100
# steps; killed at random moments (SOAK_SEED, SOAK_ROUNDS) a training ends with the bits of one that was left alone; asked to
# leave it keeps its step; the result is a network that others read, as good as was said; what is wrong is named.
set -u
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy dataset-fashion-mnist) || exit 3
build=$(realpath "${BUILD:-build}")
make -s "$build/windlass-trainer" || { echo "not ok test_train: cannot be built"; exit 1; }
trainer=$build/windlass-trainer
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_SIZE
export data=$work/data out=$work/out WINDLASS_JOB=trains WINDLASS_RUN=00000000000000aa WINDLASS_THREADS=2
mkdir -p "$data" "$out"
RANDOM=${SOAK_SEED:-1}

# spec OUTPUT MODEL EPOCHS [MORE]: a small data set that can be learned, of a last batch that is short.
spec() {
    local sets='"train": {"synthetic": {"count": 250, "classes": 6, "shape": [2, 12, 12]}},
        "test": {"synthetic": {"count": 90, "classes": 6, "shape": [2, 12, 12]}}, "augment": {"pad": 1, "flip": true}'
    WINDLASS_SPEC="{\"trainer\": {\"model\": $2, \"data\": {$sets}, \"epochs\": $3, \"batchSize\": 64,
        \"optimizer\": {\"learningRate\": \"0.05\", \"momentum\": \"0.9\"}, \"output\": {\"path\": \"out/$1\"}${4:+, $4}}}"
    export WINDLASS_SPEC
}
smooth='{"new": "CNN", "smooth": true}'
mpi() { timeout -k 5 300 mpirun --oversubscribe --bind-to none "$@"; }
# Step, losses, accuracies, rate: what does not depend on how fast it went; and of epochs alone.
rows() { awk -F, 'NR > 1 && $6 != "" {print $1, $4, $5, $6, $7, $8}' "$out/$1/metrics.csv"; }

# ---- 1, 3 and 4 ranks ----
follow() {
    spec one "$smooth" 25
    timeout 300 "$trainer" train >"$work/one" 2>&1 || return
    for ranks in 3 4; do
        spec "of-$ranks" "$smooth" 25
        mpi -np $ranks "$trainer" train >"$work/of-$ranks" 2>&1 || return
        [ "$(rows "of-$ranks" | wc -l)" -eq 25 ] || return
        # Losses to 1e-4, accuracies but for one sample at the edge.
        paste -d' ' <(rows one) <(rows "of-$ranks") | awk '
            function far(a, b) { return (a > b ? a - b : b - a) }
            $1 != $7 || far($2, $8) > 1e-4 * $2 || far($4, $10) > 1e-4 * $4 || far($3, $9) > 0.005 || $6 != $12 {
                print "# step", $1, $2, $8, $4, $10; bad = 1 }
            END { exit bad }' || return
    done
    rows one | tail -1 | awk '{exit !($2 < 0.1 && $5 > 0.95)}' # and it has learned
}
check "3 and 4 ranks follow one, 100 steps" follow
[ $failures -eq 0 ] || tail -n 3 "$work/one" "$work/of-3" "$work/of-4" 2>/dev/null | sed 's/^/# /'

# ---- killed, and asked to leave ----
with_norm='{"new": "CNN"}'
# same A B: the trained weights have the same bits. Statistics of norms are the ranks' mean, taken when a checkpoint is
# written, which is a matter of time: they differ by rounding.
cat >"$work/same.py" <<'P'
import sys, numpy as n, onnx, onnx.numpy_helper as helper
a, b = ({t.name: helper.to_array(t) for t in onnx.load(path).graph.initializer} for path in sys.argv[1:])
assert a.keys() == b.keys() and len(a) > 15
for name in a:
    if ".running_" in name:
        assert n.allclose(a[name], b[name], rtol=1e-4, atol=1e-6), name
    else:
        assert a[name].tobytes() == b[name].tobytes(), name
P
same() { /usr/bin/python3 "$work/same.py" "$out/$1/model.onnx" "$out/$2/model.onnx"; }
losses() { rows "$1" | cut -d' ' -f1-3,6; }
survives() {
    local round pid
    spec quiet "$with_norm" 120 '"checkpoint": {"everySeconds": 1}'
    mpi -np 2 "$trainer" train >"$work/quiet" 2>&1 || return
    for ((round = 0; round < ${SOAK_ROUNDS:-20} / 20 + 1; round++)); do
        spec "killed-$round" "$with_norm" 120 '"checkpoint": {"everySeconds": 1}'
        mpirun --oversubscribe --bind-to none -np 2 "$trainer" train >"$work/first" 2>&1 &
        pid=$!
        for _ in $(seq 600); do # after its first checkpoint
            compgen -G "$out/killed-$round/.windlass/$WINDLASS_RUN/checkpoint/*" >/dev/null && break
            kill -0 $pid 2>/dev/null || break
            sleep 0.05
        done
        sleep "0.$((RANDOM % 4))"
        pkill -KILL -P $pid # the ranks; mpirun ends by that
        wait $pid 2>/dev/null
        mpi -np 2 "$trainer" train >"$work/second" 2>&1 || return
        grep '^goes on from the checkpoint of step' "$work/second" | sed 's/^/# /' | grep . || return
        same quiet "killed-$round" || return
        # Rows that were not written when it was killed may be absent; what is there is the same.
        comm -13 <(losses quiet | sort) <(losses "killed-$round" | sort) | grep . && return 1
        [ "$(losses "killed-$round" | tail -1)" = "$(losses quiet | tail -1)" ] || return
    done
}
before=$failures
check "killed and started again: the same bits as left alone" survives
[ $failures -eq $before ] || tail -n 3 "$work/quiet" "$work/first" "$work/second" 2>&1 | sed 's/^/# /'

leaves() {
    local pid
    spec left "$smooth" 2000
    "$trainer" train >"$work/left" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        grep -q '^epoch 2 ' "$work/left" && break
        sleep 0.1
    done
    kill -TERM $pid
    wait $pid
    [ $? -eq 130 ] && grep -q 'asked to leave; the checkpoint of step [0-9]* is written' "$work/left" || return
    ls "$out/left/.windlass/$WINDLASS_RUN/checkpoint/" | grep -q .
}
check "asked to leave: 130, and its step is kept" leaves

again() { # a training that is done has nothing to do, and says what it said
    local sum
    sum=$(sha256sum <"$out/one/model.onnx")
    rm "$out/one/model.onnx"
    spec one "$smooth" 25
    timeout 60 "$trainer" train >"$work/again" 2>&1 && [ "$sum" = "$(sha256sum <"$out/one/model.onnx")" ] &&
        ! grep -q ^epoch "$work/again" && [ "$(rows one | wc -l)" -eq 25 ]
}
check "what is done is not done again" again

# ---- real pictures, and the result ----
real() {
    /usr/bin/python3 - "$data" "$work" <<'P' || return
import gzip, struct, sys
import numpy as n, onnx.numpy_helper as helper
for name, out, count in (("train", "train", 2000), ("t10k", "test", 500)):
    for kind, head in (("images-idx3", 16), ("labels-idx1", 8)):
        bytes_ = gzip.open(f"/usr/share/datasets/fashion-mnist/{name}-{kind}-ubyte.gz").read()
        item = 784 if head == 16 else 1
        open(f"{sys.argv[1]}/{out}-{kind}", "wb").write(bytes_[:4] + struct.pack(">I", count) + bytes_[8:head + count * item])
pixels = n.frombuffer(open(sys.argv[1] + "/test-images-idx3", "rb").read()[16:], "u1").reshape(500, 1, 28, 28)
values = ((pixels / 255 - 0.286) / 0.353).astype("f4")
open(sys.argv[2] + "/in.pb", "wb").write(helper.from_array(values, "input").SerializeToString())
P
    WINDLASS_SPEC='{"trainer": {"model": {"new": "MLP"}, "data": {
        "train": {"idx": {"images": "data/train-images-idx3", "labels": "data/train-labels-idx1"}},
        "test": {"idx": {"images": "data/test-images-idx3", "labels": "data/test-labels-idx1"}},
        "normalize": {"mean": ["0.286"], "deviation": ["0.353"]}}, "epochs": 4, "batchSize": 50,
        "optimizer": {"kind": "Adam", "learningRate": "0.001"}, "schedule": {"kind": "Cosine", "warmupEpochs": 1},
        "output": {"path": "out/real"}}}' mpi -np 2 "$trainer" train >"$work/real" 2>&1 || return
    "$build/windlass-agent" model run "$out/real/model.onnx" -i input="$work/in.pb" -o "$work/scores" >/dev/null || return
    /usr/bin/python3 - "$data" "$work" "$out/real" <<'P'
import csv, sys
import numpy as n, onnx, onnx.numpy_helper as helper
onnx.checker.check_model(onnx.load(sys.argv[3] + "/model.onnx"), full_check=True)
labels = n.frombuffer(open(sys.argv[1] + "/test-labels-idx1", "rb").read()[8:], "u1")
scores = helper.to_array(onnx.load_tensor(sys.argv[2] + "/scores/logits.pb")).astype("f8")
right = (scores.argmax(1) == labels).mean()
loss = (n.log(n.exp(scores - scores.max(1, keepdims=True)).sum(1)) + scores.max(1) - scores[range(500), labels]).mean()
last = list(csv.DictReader(open(sys.argv[3] + "/metrics.csv")))[-1]
print(f"# accuracy {right:.3f}, loss {loss:.4f}; said: {last['test_accuracy']}, {last['test_loss']}")
assert abs(right - float(last["test_accuracy"])) < 1e-9 and abs(loss - float(last["test_loss"])) < 1e-4 and right > 0.7
P
}
before=$failures
check "2,000 pictures of Fashion-MNIST: the network is as good as was said" real
[ $failures -eq $before ] || tail -3 "$work/real" 2>/dev/null | sed 's/^/# /'

# ---- what is wrong ----
# refused CODE TEXT: the spec as it is exported
refused() {
    local code
    timeout 60 "$trainer" train >"$work/refused" 2>&1
    code=$?
    [ $code -eq "$1" ] && grep -qF "$2" "$work/refused" || { sed 's/^/# /' "$work/refused" | tail -3; return 1; }
}
spec bad '{"new": "MLP"}' 400 '"schedule": {"scaling": "Linear", "baseBatchSize": 1}'
WINDLASS_SPEC=${WINDLASS_SPEC/'"0.05"'/'"1e5"'}
check "a loss that is no number ends it at once, by name" refused 1 "nan, at a learning rate of 6.4e+06"
spec bad "$smooth" 1 '"precision": "BF16"'
check "bf16 is refused" refused 2 "precision: BF16 is not built, FP32 is"
spec bad "$smooth" 1 '"timeline": true'
check "a timeline is refused" refused 2 "timeline: it is not built"
spec bad '{"new": "CNN", "shape": [1, 12, 12]}' 1
check "a network of another shape is refused" refused 2 "the network takes ?x1x12x12, a sample is 2x12x12"
spec bad "$smooth" 1 '"loss": "MeanSquared"'
check "a loss that does not fit is refused" refused 2 "loss: MeanSquared does not fit targets that are classes"
spec one "$smooth" 26
told() { timeout 60 "$trainer" train >"$work/told" 2>&1 && grep -q 'is not used: it is of another model, other data or settings' "$work/told"; }
check "a checkpoint of other settings is named and not used" told
WINDLASS_RUN=00000000000000bb
check "another job's output is refused" refused 2 "out/one holds the results of job trains (run 00000000000000aa); choose another output"
exit $((failures > 0))
