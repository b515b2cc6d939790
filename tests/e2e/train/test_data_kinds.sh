#!/usr/bin/env bash
# Kinds of training data from file to model: the same pictures in a folder and in WebDataset's shards give the same bits,
# with one rank and with three; so do the same rows in arrays and in a table; a cut shard ends a training by name, or is left out with Skip and counted; by windlass run.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
(. tests/cluster/lib.sh && need_packages python3-numpy python3-onnx python3-pil python3-yaml) || exit 3
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trainer=$work/trainer
make_trainer "$work" "$build/windlass-trainer" || exit 3
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
export data=$work/data out=$work/out WINDLASS_JOB=kinds WINDLASS_RUN=00000000000000aa WINDLASS_THREADS=2
mkdir -p "$data" "$out"
/usr/bin/python3 - "$data" <<'P' || exit 3
import io, json, os, sys, tarfile
import numpy as n
from PIL import Image
folder, random = sys.argv[1], n.random.default_rng(3)
samples = []
for kind in range(3):
    os.makedirs(f"{folder}/photos/{kind}")
    for i in range(30):
        pixels = random.integers(0, 90, (12, 12, 3)).astype("u1") + n.uint8(80 * kind)
        path = f"{folder}/photos/{kind}/{i:02}.png"
        Image.fromarray(pixels).save(path)
        samples.append((f"{kind}-{i:02}", open(path, "rb").read(), kind))
os.makedirs(folder + "/shards")
os.makedirs(folder + "/cut")
for shard in range(3):  # in the folder's order, so that every sample has the same index
    for where in "shards", "cut":
        with tarfile.open(f"{folder}/{where}/t-{shard:03}.tar", "w") as t:
            for key, picture, kind in samples[shard * 30:][:30]:
                for name, content in ((key + ".png", picture), (key + ".json", json.dumps({"label": kind}).encode())):
                    info = tarfile.TarInfo(name)
                    info.size = len(content)
                    t.addfile(info, io.BytesIO(content))
os.truncate(folder + "/cut/t-001.tar", 20000)
import onnx
from onnx import helper as h
x = random.normal(size=(200, 3)).astype("f4")
y = (x[:, 0] > x[:, 1]).astype("i4")
n.save(folder + "/x.npy", x)
n.save(folder + "/y.npy", y)
rows = [f"{a!r},{int(k)},{b!r},{c!r}" for (a, b, c), k in zip(x.astype(float).tolist(), y)]
open(folder + "/good.csv", "w").write("\n".join(["a,kind,b,c"] + rows) + "\n")
rows[7] = rows[7].replace(",", ",,", 1)
rows[9] = "," + rows[9].split(",", 1)[1]
open(folder + "/bad.csv", "w").write("\n".join(["a,kind,b,c"] + rows) + "\n")
graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [h.make_tensor_value_info("x", 1, ["n", 3])], [h.make_tensor_value_info("y", 1, ["n", 2])],
                     [h.make_tensor("w", 1, [3, 2], random.normal(size=6).astype("f4"))])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)]), folder + "/rows.onnx")
P
# train NAME DATA [COMMAND...]
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"new": "MLP", "classes": 3, "shape": [3, 12, 12]}, "data": {"augment": {"size": 12, "flip": true}, "train": %s}, "epochs": 15,
        "batchSize": 16, "optimizer": {"learningRate": "0.05"}, "output": {"path": "out/%s"}}}' "$2" "$1") \
        timeout -k 5 300 "${@:3}" "$trainer" train >"$work/$1.log" 2>&1 || { code=$?; tail -3 "$work/$1.log" | sed 's/^/# /'; return $code; }
}
export WINDLASS_SPEC
same() { cmp "$out/$1/model.onnx" "$out/$2/model.onnx"; }
last() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i} END {print $at}' "$out/$1/metrics.csv"; }
learned() { awk -v is="$(last "$1" accuracy)" 'BEGIN {print "# accuracy " is; exit !(is > 0.9)}'; }

check "a folder of pictures is trained" train folder '{"folder": {"path": "data/photos"}}'
check "and learned" learned folder
check "the same pictures in tars" train tars '{"webdataset": {"path": "data/shards/t-{000..002}.tar"}}'
check "give the same bits" same folder tars
check "by three ranks, of a folder of tars" train tars3 '{"webdataset": {"path": "data/shards"}}' mpirun --oversubscribe --bind-to none -np 3
alike() { awk -v a="$(last tars loss)" -v b="$(last tars3 loss)" 'BEGIN {print "# " a ", " b; exit !(a > 0 && (a - b) ^ 2 < (1e-4 * a) ^ 2)}'; }
check "three ranks have the loss of one" alike
cut() { ! train cut '{"webdataset": {"path": "data/cut"}}' >/dev/null && grep -q 'data/cut/t-001.tar: truncated: .* at byte' "$work/cut.log"; }
check "a cut shard ends it, by name and byte" cut
rest() {
    train rest '{"webdataset": {"path": "data/cut"}}, "onBadSample": "Skip"' &&
        grep -q '^data.train: .*1 rest of a shard: truncated: .*(such as data/cut/t-001.tar)' "$work/rest.log"
}
check "or its rest is left out, and counted" rest

rows() { # NAME DATA: a network of three numbers
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/rows.onnx"}, "data": {"train": %s}, "epochs": 8, "batchSize": 16, "optimizer": {"learningRate": "0.2"}, "output": {"path": "out/%s"}}}' "$2" "$1") \
        timeout -k 5 300 "$trainer" train >"$work/$1.log" 2>&1 || { code=$?; tail -3 "$work/$1.log" | sed 's/^/# /'; return $code; }
}
check "an array of rows" rows arrays '{"tensors": {"samples": "data/x.npy", "labels": "data/y.npy"}}'
check "the same rows in a table" rows table '{"table": {"path": "data/good.csv", "label": "kind"}}'
check "give the same bits" same arrays table
check "and are learned" learned table
bad_row() { ! rows bad '{"table": {"path": "data/bad.csv", "label": "kind"}}' >/dev/null && grep -qE 'data/bad.csv: row (8|10) \(byte [0-9]+\): ' "$work/bad.log"; }
check "a row that lacks a number ends it, by number" bad_row
fewer() { rows fewer '{"table": {"path": "data/bad.csv", "label": "kind"}}, "onBadSample": "Skip"' && [ "$(grep -c '^2 of 200 samples are bad' "$work/fewer.log")" -eq 8 ]; }
check "or is left out" fewer

# Applied again, a training that has come to its end is not taken for one of other data under the old names.
again() { # WHAT NAME FUNCTION DATA: the same training once more is refused, and its model stays
    local before
    before=$(sha256sum <"$out/$2/model.onnx")
    ! "$3" "$2" "$4" >/dev/null && [ "$(sha256sum <"$out/$2/model.onnx")" = "$before" ] &&
        grep -qF "data.$1: files have changed since this training came to its end at 20" "$work/$2.log"
}
ended() { grep -q '^this training came to its end at 20' "$work/$1.log"; }
folder_data='{"folder": {"path": "data/photos"}}' tars_data='{"webdataset": {"path": "data/shards/t-{000..002}.tar"}}'
arrays_data='{"tensors": {"samples": "data/x.npy", "labels": "data/y.npy"}}'
check "the same training again is not trained" train folder "$folder_data"
check "and says so" ended folder
cp "$data/good.csv" "$data/tested.csv"
tested_data=$arrays_data', "test": {"table": {"path": "data/tested.csv", "label": "kind"}}'
check "one with test data" rows tested "$tested_data"
picture=$data/photos/1/00.png
cp "$data/photos/2/00.png" "$picture"
check "another picture under an old name: refused by name" again train folder train "$folder_data"
touch "$data/shards/t-001.tar"
check "another shard" again train tars train "$tars_data"
sed -i 2d "$data/tested.csv"
check "other test data" again test tested rows "$tested_data"
touch "$data/x.npy"
check "another array" again train arrays rows "$arrays_data"
check "--restart trains anew" eval 'WINDLASS_RESTART=2 rows arrays "$arrays_data" && ! ended arrays'
mkdir "$data/more" && cp "$picture" "$data/more/"
ln -s ../more "$data/photos/more"
linked() { ! train linked "$folder_data" >/dev/null && grep -qF 'data/photos/more: it is a link to a folder, and such links are not followed: remove it' "$work/linked.log"; }
check "a class that is a link to a folder is refused by name" linked
counted() { train counted "$folder_data, \"onBadSample\": \"Skip\"" && grep -q '1 links that lead to no file of the volume' "$work/counted.log"; }
check "or is left out, and counted" counted
rm "$data/photos/more"

cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: job}
spec:
  workers: 2
  trainer: {model: {new: MLP, classes: 3, shape: [3, 12, 12]}, epochs: 2, batchSize: 16, output: {path: out/job},
    data: {augment: {size: 12}, onBadSample: Skip, train: {webdataset: {path: data/cut}}, test: {webdataset: {path: "data/shards/t-{000..002}.tar"}}}}
  volumes: [{name: data, hostPath: {path: $data}}, {name: out, hostPath: {path: $out}}]
M
job() { timeout 120 "$build/windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/job.log" 2>&1 </dev/null && grep -q '^job succeeded .*1 bad sample left out' "$work/job.log"; }
check "windlass run: trained from shards, one of them cut" job || tail -3 "$work/job.log" | sed 's/^/# /'

# A training is stopped, and a picture replaced under its old name before it goes on: it says so, and so does its result.
sed -i "s/name: job/name: mixed/; s/workers: 2/workers: 1/; s/epochs: 2/epochs: 400, checkpoint: {everySeconds: 1}/; s|out/job|out/mixed|
    s|data: {augment.*|data: {augment: {size: 12}, train: {folder: {path: data/photos}}}}|" "$work/job.yaml"
mixed() { timeout 120 "$build/windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/job.log" 2>&1 </dev/null; }
has_checkpoint() { compgen -G "$out/mixed/.windlass/*/checkpoint/*" >/dev/null; }
mixed &
stopped=$!
until_true_while $stopped 60 has_checkpoint
for pid in $(pgrep -P $stopped); do kill "$pid"; done
wait $stopped
check "a training is stopped in its middle" [ $? -ne 0 -a ! -e "$out/mixed/model.onnx" ]
cp "$data/photos/0/01.png" "$data/photos/2/01.png"
told() { grep -qF 'files of trainer.data (train) are others than when the training, or its Sweep, began' "$work/job.log" && [ "$(jq -r .input.changed "$out/mixed/result.json")" = train ]; }
check "goes on with another picture under an old name, and says so" eval 'mixed && told && grep -rqF "data.train: files have other sizes or times of change" "$work/state"'
check "also when it is applied once more" eval 'mixed && told'
# Also when it is not stopped, and they are replaced while it trains.
rm -rf "$out/mixed"
mixed &
running=$!
until_true_while $running 60 has_checkpoint
cp "$data/photos/0/01.png" "$data/photos/2/02.png"
wait $running
check "a training whose pictures are replaced while it runs says so (code $?)" eval 'told && grep -rqF "data.train: files have changed while this training ran" "$work/state"'
check "--restart trains with these alone" eval 'sed -i "s/everySeconds: 1/everySeconds: 60/; s/epochs: 400/epochs: 2/" "$work/job.yaml" && timeout 120 "$build/windlass" run -f "$work/job.yaml" --restart --state "$work/state" >"$work/job.log" 2>&1 && [ "$(jq -r .input.changed "$out/mixed/result.json")" = null ]'
exit $((failures > 0))
