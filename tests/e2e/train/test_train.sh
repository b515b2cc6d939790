#!/usr/bin/env bash
# `windlass-trainer train`, started by hand and by the real mpirun: 1, 3 and 4 ranks with one batch agree over 100
# steps (SOAK_SEED, SOAK_ROUNDS: up to 20 seeds), also with dropout; killed at random moments a training ends with the
# bits of an undisturbed one; asked to leave it keeps its step; the others leave a stopped rank; the result is a
# network that other programs read, as accurate as reported; it waits for an absent store; a user's network is trained
# further; with metrics.objective it is the best epoch's, killed or not; timelines are valid while they grow; errors
# name the field. Of what several cases prove `make test` draws one (draw).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
built "${BUILD:-build}/windlass-trainer" "${BUILD:-build}/windlass" || { echo "not ok test_train: cannot be built"; exit 1; }
trainer_begins trains 2 dataset-fashion-mnist
RANDOM=${SOAK_SEED:-1}
rounds=${SOAK_ROUNDS:-20}
echo "# SOAK_SEED=${SOAK_SEED:-1}, SOAK_ROUNDS=$rounds"

# spec OUTPUT MODEL EPOCHS [MORE]: a small data set that can be learned, with a short last batch.
spec() {
    local sets='"train": {"synthetic": {"count": 250, "classes": 6, "shape": [2, 12, 12]}},
        "test": {"synthetic": {"count": 90, "classes": 6, "shape": [2, 12, 12]}}, "augment": {"pad": 1, "flip": true}'
    WINDLASS_SPEC="{\"trainer\": {\"model\": $2, \"data\": {$sets}, \"epochs\": $3, \"batchSize\": 64,
        \"optimizer\": {\"learningRate\": \"${rate:-0.05}\", \"momentum\": \"0.9\"}, \"output\": {\"path\": \"out/$1\"}${4:+, $4}}}"
    export WINDLASS_SPEC
}
smooth='{"new": "CNN", "smooth": true}'
mpi() { timeout -k 5 300 mpirun --oversubscribe --bind-to none "$@"; }
# Step, losses, accuracies, rate: the columns that do not depend on speed; `epochs`: rows of epochs only.
rows() { awk -F, 'NR > 1 && $6 != "" {print $1, $4, $5, $6, $7, $8}' "$out/$1/metrics.csv"; }

# near A B: losses to 1e-4, accuracies except for one borderline sample, over equally many epochs.
near() {
    [ "$(rows "$1" | wc -l)" -eq "$(rows "$2" | wc -l)" ] && paste -d' ' <(rows "$1") <(rows "$2") | awk '
        function far(a, b) { return (a > b ? a - b : b - a) }
        $1 != $7 || far($2, $8) > 1e-4 * $2 || far($4, $10) > 1e-4 * $4 || far($3, $9) > 0.005 || $6 != $12 {
            print "# step", $1, $2, $8, $4, $10; bad = 1 }
        END { exit bad || NR == 0 }'
}
# Reads timelines while they grow: every read is JSON. Prints the number of reads.
cat >"$work/watch.py" <<'P'
import glob, json, os, sys, time
seen = 0
while not os.path.exists(sys.argv[2]):
    for path in glob.glob(sys.argv[1] + "/rank.*.json"):
        assert json.load(open(path))["traceEvents"]
        seen += 1
    time.sleep(0.02)
print(seen)
P

# ---- 1, 3 and 4 ranks ----
one_seed=42
draw "ranks" 1 3 4
worlds=("${drawn[@]}") # numbers of ranks; the last one's log and timelines are looked at
world=${worlds[-1]}
# At a rate of 0.05 some seeds' losses jump (0.8 to 2.7 in four steps), and rounding differences with them (3e-4); at
# 0.01 they stay below 4e-7.
follow() {
    local round watcher rate=0.01
    for ((round = 0; round == 0 || round < (rounds < 2000 ? rounds / 100 : 20); round++)); do
        [ $round -eq 0 ] || one_seed=$RANDOM
        discard "$out"/one "$out"/of-* "$work/over"
        spec one "$smooth" 25 "\"seed\": $one_seed"
        timeout 300 "$trainer" train >"$work/one" 2>&1 || return
        [ "$(rows one | wc -l)" -eq 25 ] || return
        for ranks in "${worlds[@]}"; do
            spec "of-$ranks" "$smooth" 25 "\"seed\": $one_seed, \"timeline\": true"
            /usr/bin/python3 "$work/watch.py" "$out/of-$ranks" "$work/over" >"$work/watched-$ranks" 2>&1 &
            watcher=$!
            mpi -np $ranks "$trainer" train >"$work/of-$ranks" 2>&1 || return
            touch "$work/over"
            wait $watcher || return
            rm "$work/over"
            near one "of-$ranks" || { echo "# seed $one_seed"; return 1; }
        done
    done
    rows one | tail -1 | awk '{exit !($2 < 0.5 && $5 > 0.95)}' # and it has learned
}
check "${worlds[*]} ranks follow one, 100 steps" follow
[ $failures -eq 0 ] || tail -n 3 "$work/one" "$work"/of-* "$work"/watched-* 2>/dev/null | sed 's/^/# /'

lines() { # the log: the first step, one line per epoch, the path of the result
    local test='test loss [0-9.]*, test accuracy [0-9.]*' end='learning rate 0.01, [0-9]* samples/s$'
    grep -q "^step 1 of 100: loss [0-9.]*, accuracy [0-9.]*, $end" "$work/$1" &&
        [ "$(grep -c '^epoch ' "$work/$1")" -eq 25 ] && grep -qxF "the result: out/$1/model.onnx" "$work/$1" &&
        grep -q "^epoch 25 of 25, step 100: loss [0-9.]*, accuracy [0-9.]*, $test, $end" "$work/$1"
}
check "one line an epoch" lines one
check "one of $world ranks prints" lines "of-$world"

timelines() {
    cat "$work"/watched-* | sed 's/^/# looked at while they grew: /'
    [ ! -e "$out/one/rank.0.json" ] && /usr/bin/python3 - "$out/of-$world" "$world" <<'P'
import json, sys
sums, world = {}, int(sys.argv[2])
for rank in range(world):
    events = json.load(open(f"{sys.argv[1]}/rank.{rank}.json"))["traceEvents"]
    assert all(event["pid"] == rank for event in events)
    slices = sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["tid"], e["ts"], -e["dur"]))
    for lane in 0, 1:  # disjoint or nested: otherwise viewers drop them
        ends = []
        for event in (e for e in slices if e["tid"] == lane):
            while ends and ends[-1] <= event["ts"] + 1e-6:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1] + 1e-6, event
            ends.append(event["ts"] + event["dur"])
    steps = [e for e in slices if e["name"].startswith("step ")]
    assert [int(e["name"][5:]) for e in steps] == [*range(1, 21), 100]
    for step in steps:
        inner = [e for e in slices if e is not step and step["ts"] <= e["ts"] < step["ts"] + step["dur"]]
        names = " ".join(e["name"] for e in inner if e["tid"] == 0)
        for what in "wait for a batch", "Conv ", "SoftmaxCrossEntropy ", "ConvGradientWeights ", "wait for a sum", "optimizer":
            assert what in names, (what, names)
        assert sum(e["dur"] for e in inner if e["tid"] == 0) <= step["dur"]
        sums[rank, step["name"]] = [e for e in inner if e["tid"] == 1]
    assert sum(e["name"] == "evaluation" for e in slices) == 25
    assert sum(e["ph"] == "C" and e["args"]["loss"] > 0 for e in events) == 21
for (rank, name), own in sums.items():  # one sum on all ranks: none has it before all have begun it
    for other in range(world):
        assert len(own) == len(sums[other, name]) > 0
        for a, b in zip(own, sums[other, name]):
            assert a["ts"] <= b["ts"] + b["dur"] + 2e6, (rank, other, name)
P
}
check "timelines: steps 1 to 20 and 100, node by node, sum by sum" timelines

seed=$RANDOM
norm() { # RANKS
    spec "norm-$1" '{"new": "CNN"}' 25 "\"seed\": $seed"
    mpi -np "$1" "$trainer" train >"$work/norm" 2>&1
}
accuracy() { # norms use the statistics of a rank's own samples, so only accuracy is the same
    norm 1 && norm 4 || return
    for ranks in 1 4; do rows norm-$ranks | tail -1; done | awk '
        {print "# seed '$seed': test accuracy " $5; bad = bad || $5 < 0.9; last[NR] = $5}
        END {far = last[1] - last[2]; exit bad || NR != 2 || far > 0.05 || far < -0.05}'
}
before=$failures
draw "as good as one rank with FP32" 1 ranks BF16
! is_drawn ranks || check "relus, maxima and norms: 4 ranks are as good as one" accuracy
[ $failures -eq $before ] || tail -n 3 "$work/norm" | sed 's/^/# /'

bfloat() { # other numbers than FP32's, but as accurate; a warning says that it is slow
    [ -e "$out/norm-1/model.onnx" ] || norm 1 || return
    spec bfloat '{"new": "CNN"}' 25 '"precision": "BF16"'
    mpi -np 2 "$trainer" train >"$work/bfloat" 2>&1 && grep -q '^precision: BF16 is made for GPUs' "$work/bfloat" || return
    for output in norm-1 bfloat; do rows $output | tail -1; done | awk '
        {print "# test accuracy " $5 ", loss " $2; bad = bad || $5 < 0.9; accuracy[NR] = $5; loss[NR] = $2}
        END {far = accuracy[1] - accuracy[2]; exit bad || NR != 2 || far > 0.05 || far < -0.05 || loss[1] == loss[2]}'
}
! is_drawn BF16 || check "precision BF16 is as good as FP32" bfloat

# ---- a user's network, with dropout ----
cat >"$work/dropout.py" <<'P'
import sys
import numpy as n, onnx, onnx.helper as helper, onnx.numpy_helper as numpy_helper
def make(path, ratio, heads=1):
    """heads: the elements are dropped in rows of a head, as exporters write attention."""
    random = n.random.default_rng(5)
    number = lambda name, values: numpy_helper.from_array(n.asarray(values, "f4"), name)
    layer = lambda a, b: random.uniform(-1, 1, (a, b)) * (3 / a) ** 0.5
    constants = [number("w1", layer(288, 64)), number("b1", n.zeros(64)), number("w2", layer(64, 6)),
                 number("b2", n.zeros(6)), number("ratio", ratio),
                 numpy_helper.from_array(n.array([-1, 64 // heads]), "rows"), numpy_helper.from_array(n.array([-1, 64]), "samples")]
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w1", "b1"], ["h"]),
             helper.make_node("Tanh", ["h"], ["t"]), helper.make_node("Reshape", ["t", "rows"], ["r"]),
             helper.make_node("Dropout", ["r", "ratio"], ["e"], name="drop"), helper.make_node("Reshape", ["e", "samples"], ["d"]),
             helper.make_node("Gemm", ["d", "w2", "b2"], ["logits"])]
    value = lambda name, shape: helper.make_tensor_value_info(name, 1, shape)
    graph = helper.make_graph(nodes, "g", [value("x", ["n", 2, 12, 12])], [value("logits", ["n", 6])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model)
    onnx.save(model, path)
make(sys.argv[1] + "/dropout.onnx", 0.5)
make(sys.argv[1] + "/plain.onnx", 0.0)
make(sys.argv[1] + "/heads.onnx", 0.5, 4)
P
dropout() {
    local each
    /usr/bin/python3 "$work/dropout.py" "$data" || return
    spec plain '{"path": "data/plain.onnx"}' 10
    timeout 300 "$trainer" train >"$work/dropout" 2>&1 || return
    spec drop-1 '{"path": "data/dropout.onnx"}' 10
    timeout 300 "$trainer" train >"$work/dropout" 2>&1 || return
    draw "rows that lose elements" 1 dropout heads # a sample loses the same ones, four rows or one
    for each in "${drawn[@]}"; do
        spec "$each-3" "{\"path\": \"data/$each.onnx\"}" 10
        mpi -np 3 "$trainer" train >"$work/dropout" 2>&1 && near drop-1 "$each-3" || return
    done
    # Dropout works: the training loss is worse with it than without.
    paste -d' ' <(rows plain) <(rows drop-1) | awk '
        {print "# loss " $2 ", with dropout " $8; worse += $8 > $2; last = $8 / $2} END {exit !(worse >= 8 && last > 1.2)}'
}
before=$failures
check "dropout: the same samples lose the same elements on every rank" dropout
[ $failures -eq $before ] || tail -n 3 "$work/dropout" | sed 's/^/# /'

# ---- killed, and asked to leave ----
with_norm='{"new": "CNN"}'
# same A B: the trained weights have the same bits. Statistics of norms are the mean over ranks, computed when a
# checkpoint is written; that depends on time, so they differ by rounding.
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
quiet() {
    spec quiet "$with_norm" 80 '"checkpoint": {"everySeconds": 1}'
    mpi -np 2 "$trainer" train >"$work/quiet" 2>&1
}
survives() {
    local round pid
    for ((round = 0; round < (rounds + 19) / 20; round++)); do
        spec "killed-$round" "$with_norm" 80 '"checkpoint": {"everySeconds": 1}'
        mpirun --oversubscribe --bind-to none -np 2 "$trainer" train >"$work/first" 2>&1 &
        pid=$!
        for _ in $(seq 600); do # after its first checkpoint
            compgen -G "$out/killed-$round/.windlass/$WINDLASS_RUN/checkpoint/*" >/dev/null && break
            kill -0 $pid 2>/dev/null || break
            nap 0.05
        done
        sleep "0.$((RANDOM % 4))"
        pkill -KILL -P $pid # the ranks; mpirun ends by that
        wait $pid 2>/dev/null
        mpi -np 2 "$trainer" train >"$work/second" 2>&1 || return
        grep '^continues from the checkpoint of step' "$work/second" | sed 's/^/# /' | grep . || return
        same quiet "killed-$round" || return
        # Rows not yet written when it was killed may be missing; existing rows are the same.
        comm -13 <(losses quiet | sort) <(losses "killed-$round" | sort) | grep . && return 1
        [ "$(losses "killed-$round" | tail -1)" = "$(losses quiet | tail -1)" ] || return
    done
}
before=$failures
check "a training of two ranks" quiet
draw "what is killed" 1 ranks tuned
killed=("${drawn[@]}")
! is_drawn ranks || check "killed and started again: the same bits as left alone" survives
[ $failures -eq $before ] || tail -n 3 "$work/quiet" "$work/first" "$work/second" 2>&1 | sed 's/^/# /'

leaves() {
    local pid
    spec left "$smooth" 2000
    "$trainer" train >"$work/left" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        grep -q '^epoch 2 ' "$work/left" && break
        nap 0.1
    done
    kill -TERM $pid
    wait $pid
    [ $? -eq 130 ] && grep -q 'stopped on request; the checkpoint of step [0-9]* is written' "$work/left" || return
    ls "$out/left/.windlass/$WINDLASS_RUN/checkpoint/" | grep -q .
}
check "SIGTERM: 130, and its step is saved" leaves

again() { # a completed training does nothing, and prints the same result
    local sum
    sum=$(sha256sum <"$out/one/model.onnx")
    rm "$out/one/model.onnx"
    rate=0.01 spec one "$smooth" 25 "\"seed\": $one_seed"
    timeout 300 "$trainer" train >"$work/again" 2>&1 && [ "$sum" = "$(sha256sum <"$out/one/model.onnx")" ] &&
        ! grep -q ^epoch "$work/again" && [ "$(rows one | wc -l)" -eq 25 ]
}
check "a finished training is not repeated" again

# ---- tuned for a metric: the best epoch's network ----
# tuned METRIC GOAL OUTPUT EPOCHS [MORE]
tuned() {
    spec "$3" "$smooth" "$4" "${5-}"
    WINDLASS_SPEC=${WINDLASS_SPEC%\}}", \"metrics\": {\"objective\": \"$1\", \"goal\": \"$2\"}}"
}
# The epoch of the first maximum in a column of metrics.csv.
top() { rows "$1" | awk -v column="$2" 'NR == 1 || $column > most {most = $column; epoch = NR} END {print epoch}'; }
# as_if_ended OUTPUT EPOCH: the network equals that of a training that ended with that epoch, bit for bit.
as_if_ended() {
    spec "$1-ended" "$smooth" "$2"
    timeout 60 "$trainer" train >"$work/ended" 2>&1 && ! grep -q ' best ' "$work/ended" && cmp "$out/$1/model.onnx" "$out/$1-ended/model.onnx"
}
best() { # at this rate the accuracy goes up and, a time or two, down; the loss falls, so the first epoch has the largest
    local epoch
    tuned accuracy Maximize tuned 12
    timeout 60 "$trainer" train >"$work/best" 2>&1 && epoch=$(top tuned 5) || return
    rows tuned | awk -v best="$epoch" '{print "# accuracy " $5 (NR == best ? ", the best" : "")}'
    [ "$(tail -n 2 "$work/best" | head -n 1)" = "the best accuracy is $(rows tuned | sed -n "${epoch}p" | cut -d' ' -f5), of epoch $epoch of 12, step $((4 * epoch)): its network is the result" ] &&
        as_if_ended tuned "$epoch" || return
    rate=0.01 tuned loss Maximize most 12
    timeout 60 "$trainer" train >"$work/best" 2>&1 && [ "$(top most 2)" -lt 12 ] && rate=0.01 as_if_ended most "$(top most 2)" || return
    rate=0.01 as_if_ended most 12 >/dev/null # the last epoch's network differs
    [ $? -eq 1 ]
}
# The next start knows from the checkpoint alone which epoch was the best, long before, and what all epochs have reported: a
# hub that was killed with it has forgotten that.
best_survives() {
    local pid epoch known hears
    export WINDLASS_SOCKET=$work/agent.socket
    python3 -B tests/e2e/train/reports.py "$WINDLASS_SOCKET" "$work/reports" &
    hears=$!
    until_true 60 test -S "$WINDLASS_SOCKET" || return
    rate=0.01 tuned loss Maximize slain 300 '"checkpoint": {"everySeconds": 1}'
    "$trainer" train >"$work/best" 2>&1 &
    pid=$!
    for _ in $(seq 1200); do
        compgen -G "$out/slain/.windlass/$WINDLASS_RUN/checkpoint/*" >/dev/null && break
        kill -0 $pid 2>/dev/null || break
        nap 0.05
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    known=$(wc -l <"$work/reports")
    timeout 120 "$trainer" train >"$work/best" 2>&1 && epoch=$(top slain 2) || return
    kill $hears
    unset WINDLASS_SOCKET
    grep '^continues from the checkpoint of step' "$work/best" | sed 's/^/# /' | grep . && [ "$epoch" -lt 10 ] &&
        grep -q "^the best loss is .*, of epoch $epoch of 300, " "$work/best" && rate=0.01 as_if_ended slain "$epoch" &&
        head -n "$known" "$work/reports" | sort >"$work/reports.1" && tail -n "+$((known + 1))" "$work/reports" | sort >"$work/reports.2"
}
# Each epoch's, with all bits: as before for those that were reported already.
reports_survive() {
    [ "$(wc -l <"$work/reports.1")" -gt 0 ] && [ -z "$(comm -23 "$work/reports.1" "$work/reports.2")" ] &&
        diff <(awk '$2 == "loss" { print $4 }' "$work/reports.2" | sort -n) <(seq 4 4 1200)
}
before=$failures
check "metrics.objective: the network of the best epoch is the result" best
if [[ " ${killed[*]} " == *" tuned "* ]]; then
    check "and is, killed and started again" best_survives
    check "which reports all epochs again" reports_survive
fi
[ $failures -eq $before ] || tail -n 3 "$work/best" "$work/ended" 2>/dev/null | sed 's/^/# /'

# ---- stopped ranks, absent stores ----
stands() {
    local pid rank
    spec stands "$smooth" 100000
    WINDLASS_SPEC=${WINDLASS_SPEC%\}}', "restart": {"hangSeconds": 4}}'
    timeout -k 5 300 mpirun --oversubscribe --bind-to none -np 2 "$trainer" train >"$work/stands" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        grep -q '^epoch 2 ' "$work/stands" && break
        nap 0.1
    done
    rank=$(pgrep -P "$(pgrep -P $pid)" | tail -1)
    kill -STOP "$rank" || return
    wait $pid
    [ $? -eq 4 ] && grep -q 'nothing from the other ranks for 4.0 s: one of them is dead, stopped or cut off' "$work/stands"
}
before=$failures
check "the other rank gives up a suspended rank after hangSeconds" stands
[ $failures -eq $before ] || tail -n 3 "$work/stands" | sed 's/^/# /'

# begin_away NAME: starts a training whose output is gone when it ends; its pid is in $pid.
begin_away() {
    spec "$1" "$smooth" 150
    "$trainer" train >"$work/$1" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        grep -q '^epoch 2 ' "$work/$1" && break
        nap 0.05
    done
    mv "$out/$1" "$out/$1-away"
    for _ in $(seq 1200); do
        grep -q '^the result: .*; retrying for [0-9]* s' "$work/$1" && return
        nap 0.1
    done
    return 1
}
comes_back() {
    local pid
    begin_away back && mv "$out/back-away" "$out/back" && wait $pid &&
        grep -qxF "the result: out/back/model.onnx" "$work/back" && [ "$(rows back | wc -l)" -eq 150 ] && [ -s "$out/back/model.onnx" ]
}
leaves_without() { # asked to leave while it waits
    local pid
    begin_away without || return
    kill -TERM $pid
    wait $pid
    [ $? -eq 130 ] && grep -q 'stopped on request before the result could be written' "$work/without"
}
gives_up() { # five minutes
    local pid
    begin_away gone || return
    wait $pid
    [ $? -eq 3 ] && grep -q '^windlass-trainer train: rank 0 of 1: the result: out/gone' "$work/gone"
}
before=$failures
check "the result waits for its output" comes_back
check "but not after SIGTERM" leaves_without
if [ -n "${SOAK_ROUNDS:-}" ]; then check "and not for ever" gives_up; fi
[ $failures -eq $before ] || tail -n 3 "$work/back" "$work/without" "$work/gone" 2>/dev/null | sed 's/^/# /'

# ---- a network that is trained further ----
further() {
    spec further '{"path": "out/quiet/model.onnx", "freeze": ["conv1*", "bn1*"]}' 2
    mpi -np 2 "$trainer" train >"$work/further" 2>&1 || return
    rows further | head -1 | awk '{exit !($2 < 0.5)}' || return # a new network begins with 1.8
    /usr/bin/python3 - "$out/quiet/model.onnx" "$out/further/model.onnx" <<'P'
import sys, onnx, onnx.numpy_helper as helper
a, b = ({t.name: helper.to_array(t) for t in onnx.load(path).graph.initializer} for path in sys.argv[1:])
assert a.keys() == b.keys()
layers = "conv1", "bn1", "conv2", "bn2", "fc1", "bn3", "fc2"
kept = sorted(name for name in a if name.split(".")[0] in layers and a[name].tobytes() == b[name].tobytes())
print("# kept:", *kept)
assert len(kept) >= 5 and kept == sorted(name for name in a if name.startswith(("conv1.", "bn1.")))
P
}
before=$failures
check "model.path and freeze: it continues, and frozen weights keep their bits" further
[ $failures -eq $before ] || tail -n 3 "$work/further" | sed 's/^/# /'

# ---- real pictures, and the result ----
few_pictures() {
    mkdir -p "$data/few"
    /usr/bin/python3 - "$data" "$work" <<'P'
import gzip, struct, sys
import numpy as n, onnx.numpy_helper as helper
for name, out, count in (("train", "train", 2000), ("t10k", "test", 500)):
    for kind, head in (("images-idx3", 16), ("labels-idx1", 8)):
        bytes_ = gzip.open(f"/usr/share/datasets/fashion-mnist/{name}-{kind}-ubyte.gz").read()
        item = 784 if head == 16 else 1
        part = bytes_[:4] + struct.pack(">I", count) + bytes_[8:head + count * item]
        open(f"{sys.argv[1]}/{out}-{kind}", "wb").write(part)
        gzip.open(f"{sys.argv[1]}/few/{name}-{kind}-ubyte.gz", "wb", 1).write(part)
pixels = n.frombuffer(open(sys.argv[1] + "/test-images-idx3", "rb").read()[16:], "u1").reshape(500, 1, 28, 28)
values = ((pixels / 255 - 0.286) / 0.353).astype("f4")
open(sys.argv[2] + "/in.pb", "wb").write(helper.from_array(values, "input").SerializeToString())
P
}
real() {
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
few_pictures || exit 3
draw "trainings with 2,000 pictures" 1 real example
! is_drawn real || check "2,000 pictures of Fashion-MNIST: the network is as good as was said" real
[ $failures -eq $before ] || tail -3 "$work/real" 2>/dev/null | sed 's/^/# /'

# example FOLDER EPOCHS RANKS LEAST: the trainer of examples/fashion-mnist, as in its manifest except for the folder of
# data and the number of epochs; the last line's accuracy is at least LEAST.
example() {
    local folder=example-$2-$3
    WINDLASS_SPEC=$(/usr/bin/python3 - "$1" "$2" "$folder" <<'P'
import json, sys, yaml
trainer = yaml.safe_load(open("examples/fashion-mnist/disttrain.yaml"))["spec"]["trainer"]
assert trainer["output"]["path"] == "data/trained" and trainer["epochs"] == 10
for which in trainer["data"]["train"], trainer["data"]["test"]:
    which["idx"] = {key: path.replace("data/", "data/" + sys.argv[1], 1) for key, path in which["idx"].items()}
trainer.update(epochs=int(sys.argv[2]), output={"path": "out/" + sys.argv[3]})
print(json.dumps({"trainer": trainer}))
P
    ) || return
    timeout -k 5 3600 mpirun --oversubscribe --bind-to none -np "$3" "$trainer" train >"$work/example" 2>&1 || return
    rows "$folder" | tail -1 | awk -v least="$4" '{print "# test accuracy", $5; exit !($5 >= least)}'
}
checked() { "$build/windlass" check -f examples/fashion-mnist/disttrain.yaml >"$work/checked" 2>&1 || { sed 's/^/# /' "$work/checked"; return 1; }; }
check "examples/fashion-mnist/disttrain.yaml is sound" checked
before=$failures
! is_drawn example || check "examples/fashion-mnist, its trainer, with 2,000 pictures" example few/ 4 2 0.7
if [ -n "${SOAK_ROUNDS:-}" ]; then
    cp /usr/share/datasets/fashion-mnist/* "$data/"
    check "examples/fashion-mnist: 92 % of 10,000 are right" example "" 10 4 0.92
    check "one rank, 5 epochs" example "" 5 1 0.89
    check "four ranks, 5 epochs" example "" 5 4 0.89
    check "are as good as each other" awk '{a[NR] = $5} END {far = a[1] - a[2]; exit NR != 2 || far > 0.01 || far < -0.01}' \
        <(rows example-5-1 | tail -1; rows example-5-4 | tail -1)
fi
[ $failures -eq $before ] || tail -3 "$work/example" 2>/dev/null | sed 's/^/# /'

# ---- a device with separate memory and time ----
built "${BUILD:-build}/tests/conformance/test_train_device" || { echo "not ok test_train_device: cannot be built"; exit 1; }
draw "ranks of a device of its own" 1 2 3
for ranks in "${drawn[@]}"; do
    LD_PRELOAD=$work/rest.so mpi -np $ranks "$build/tests/conformance/test_train_device" >"$work/apart" 2>&1
    code=$?
    grep -E '^(ok|not ok) ' "$work/apart"
    check "a device of its own, $ranks ranks" [ $code -eq 0 ]
    check "a device of its own, $ranks ranks: all of it, over MPI" [ "$(grep -c "^ok .*, mpi of $ranks\$" "$work/apart")" -eq 5 ]
    [ $code -eq 0 ] || tail -n 20 "$work/apart" | sed 's/^/# /'
done

# ---- errors ----
# refused CODE TEXT: with the exported spec
refused() {
    local code
    timeout 300 "$trainer" train >"$work/refused" 2>&1
    code=$?
    [ $code -eq "$1" ] && grep -qF "$2" "$work/refused" || { sed 's/^/# /' "$work/refused" | tail -3; return 1; }
}
spec bad '{"new": "MLP"}' 400 '"schedule": {"scaling": "Linear", "baseBatchSize": 1}'
WINDLASS_SPEC=${WINDLASS_SPEC/'"0.05"'/'"1e5"'}
check "a loss that is not a number ends it at once, by name" refused 1 "nan though all numbers of its samples are finite: the training diverges at a learning rate of 6.4e+06"
# One pixel of one test sample.
/usr/bin/python3 - "$data" <<'P'
import numpy, sys
samples = numpy.random.default_rng(1).random((250, 2, 12, 12), dtype=numpy.float32)
numpy.save(sys.argv[1] + "/whole.npy", samples)
numpy.save(sys.argv[1] + "/classes.npy", numpy.arange(250, dtype=numpy.int64) % 6)
samples[77, 1, 3, 4] = numpy.nan
numpy.save(sys.argv[1] + "/holes.npy", samples)
P
holes='"train": {"tensors": {"samples": "data/whole.npy", "labels": "data/classes.npy"}},
    "test": {"tensors": {"samples": "data/holes.npy", "labels": "data/classes.npy"}}'
draw "ranks with a number that is none" 1 1 2
for ranks in "${drawn[@]}"; do
    spec bad "$smooth" 2
    WINDLASS_SPEC=$(jq -c ".trainer.data += {$holes} | del(.trainer.data.augment)" <<<"$WINDLASS_SPEC")
    of_test() { mpi -np $ranks "$trainer" train >"$work/refused" 2>&1; [ $? -eq 5 ] && grep -q "data/holes.npy, labels data/classes.npy: sample 77: element 184 is nan" "$work/refused"; }
    check "a number that is none in the test data ends it by name, $ranks ranks" of_test || tail -3 "$work/refused" | sed 's/^/# /'
done
# One step whose loss is finite but whose gradients are not: a layer of 1e-36 followed by one of 1e36.
/usr/bin/python3 - "$data" <<'P'
import numpy, sys
from onnx import helper, numpy_helper, save
random = numpy.random.default_rng(2)
weights = {"w": random.normal(size=(288, 8)) * 1e-36, "v": random.normal(size=(8, 6)) * 1e36}
values = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", ["n", 2, 12, 12]), ("y", ["n", 6]))]
nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["h"]),
         helper.make_node("MatMul", ["h", "v"], ["y"])]
graph = helper.make_graph(nodes, "steep", values[:1], values[1:],
                          [numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 7
save(model, sys.argv[1] + "/steep.onnx")
P
spec bad '{"path": "data/steep.onnx"}' 1
WINDLASS_SPEC=$(jq -c 'del(.trainer.data.test) | .trainer.data.train.synthetic.count = 64 | .trainer.optimizer.learningRate = "1000"' <<<"$WINDLASS_SPEC")
check "weights that the last step made NaN are named" refused 1 "weight w is not a number after step 1, the last one"
check "and no network is published" [ ! -e "$out/bad/model.onnx" ]
spec bad "$smooth" 1 '"precision": "FP8"'
check "another precision is refused" refused 2 "precision: one of FP32, BF16"
spec bad "$smooth" 1 '"timeline": "yes"'
check "a timeline is a flag" refused 2 "timeline: "
spec bad '{"path": "out/bad/model.onnx"}' 1
check "its own result cannot be the network to begin with" refused 2 "model.path: out/bad/model.onnx is what this training writes"
spec bad '{"path": "out/quiet/model.onnx", "freeze": ["*"]}' 1
check "nothing to train is refused" refused 2 "the network has no weights that could be trained"
spec bad '{"new": "CNN", "shape": [1, 12, 12]}' 1
check "a network of another shape is refused" refused 2 "the network takes ?x1x12x12, a sample is 2x12x12"
spec bad "$smooth" 1 '"loss": "MeanSquared"'
check "a loss that does not fit is refused" refused 2 "loss: MeanSquared does not fit targets that are classes"
spec one "$smooth" 26 "\"seed\": $one_seed"
told() { timeout 300 "$trainer" train >"$work/told" 2>&1 && grep -q 'skipping checkpoint .*: it belongs to another model, data or settings' "$work/told"; }
check "a checkpoint of other settings is named and not used" told
# Nor one of another network under the same path, with weights of the same names and shapes.
for kind in Relu Tanh; do
    /usr/bin/python3 - "$data/swapped.onnx" $kind <<'P'
import numpy, sys
from onnx import helper, numpy_helper, save
random = numpy.random.default_rng(2)
weights = {name: random.normal(size=shape) * 0.1 for name, shape in (("w", (288, 8)), ("v", (8, 6)))}
values = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", ["n", 2, 12, 12]), ("y", ["n", 6]))]
nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["h"]),
         helper.make_node(sys.argv[2], ["h"], ["a"]), helper.make_node("MatMul", ["a", "v"], ["y"])]
graph = helper.make_graph(nodes, "swapped", values[:1], values[1:],
                          [numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 7
save(model, sys.argv[1])
P
    spec swapped '{"path": "data/swapped.onnx"}' 1
    [ $kind = Tanh ] || timeout 300 "$trainer" train >"$work/first" 2>&1
done
check "nor one of another network with weights of the same shapes" told
WINDLASS_RUN=00000000000000bb
spec one "$smooth" 26 "\"seed\": $one_seed"
check "another job's output is refused" refused 2 "out/one holds the results of job trains, started with a different spec: spec.trainer.epochs: was 25, is 26"
exit $((failures > 0))
