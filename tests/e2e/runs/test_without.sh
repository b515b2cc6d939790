#!/usr/bin/env bash
# `windlass train`, `sweep` and `init`: trainings without a manifest, and manifests to begin with. The form of the data is found
# and said, what cannot be found is refused with the option that says it, and the saved manifest does the same.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/home
cd "$work" || exit 3
python3 - <<'P'
import gzip, os, random, struct
random.seed(7)
os.makedirs("digits")
os.makedirs("rows")
for name, count in (("train", 60), ("t10k", 20)):
    labels = [i % 10 for i in range(count)]
    pictures = b"".join(bytes(min(255, 20 * label + random.randrange(40)) for _ in range(784)) for label in labels)
    with gzip.open(f"digits/{name}-images-idx3-ubyte.gz", "wb", 1) as file:
        file.write(struct.pack(">IIII", 0x803, count, 28, 28) + pictures)
    with gzip.open(f"digits/{name}-labels-idx1-ubyte.gz", "wb", 1) as file:
        file.write(struct.pack(">II", 0x801, count) + bytes(labels))
def npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data)
npy("x.npy", "<f4", "(40, 1, 4, 4)", struct.pack("<640f", *[(i // 16 % 2) + random.random() / 4 for i in range(640)]))
npy("y.npy", "<i8", "(40,)", struct.pack("<40q", *[i % 2 for i in range(40)]))
P
run() { # COMMAND WORDS...: in $code and the file said
    timeout 300 "$windlass" "$@" >said 2>&1 </dev/null
    code=$?
}
refused() { [ $code -eq 2 ] && grep -qF -- "$1" said; }
told() { grep -qF -- "$1" said; }

# Training.
run train CNN digits -o model --epochs 1 --batch 20
check "MNIST's files: trained: $(tail -n 3 said)" [ $code -eq 0 -a -s model/model.onnx ]
check "the form is said, the test data found" told 'windlass: trains a new CNN (10 classes of [1, 28, 28]) on pictures and labels in MNIST'"'"'s form, 1 epoch of batches of 20, tested after each; model.onnx goes to model'
check "what to do next is said, with the range of pictures" told 'next: windlass score model/model.onnx INPUT... -o DIR --range Unit'
run train model/model.onnx digits -o again --epochs 1 --rate 0.01 --save job.yaml
check "a model's training goes on: the manifest is saved, nothing runs" [ $code -eq 0 -a ! -e again/model.onnx ]
check "with plain numbers" grep -q 'learningRate: 0.01' job.yaml
run check -f job.yaml
check "and it is right: $(cat said)" [ $code -eq 0 ]
run run -f job.yaml
check "and runs: $(tail -n 3 said)" [ $code -eq 0 -a -s again/model.onnx ]
run train MLP x.npy y.npy -o arrays --epochs 1
check "what arrays do not say is asked for at once" refused 'needs --classes N and --shape CHANNELS,HEIGHT,WIDTH'
run train MLP x.npy y.npy -o arrays --epochs 1 --classes 2 --shape 1,4,4
check "two arrays: $(tail -n 3 said)" [ $code -eq 0 -a -s arrays/model.onnx ]
run train CNN rows -o nothing
check "an empty folder: what is known is said" refused 'rows: no training data found in it; known are a folder with a folder of pictures'
run train CNM digits -o nothing
check "a name that is almost one" refused 'did you mean CNN?'
printf 'a,b,quality\n1,2,0\n3,4,1\n' >rows/rows.csv
run train model/model.onnx rows/rows.csv -o nothing
check "a table wants its label" refused '--label COLUMN is missing'
run train MLP rows/rows.csv -o nothing --label quality
check "a new network is not for tables" refused 'give an ONNX file with an input [n, columns]'
run train CNN digits -o nothing --epochs 0
check "a number below 1 is not the default" refused '--epochs 0: expected 1 or more'
mkdir -p loop flat/train flat/test
ln -s . loop/train
: >flat/train/a.png && : >flat/test/b.png
run train CNN loop -o nothing
check "a folder that leads to itself" refused 'loop/train: no training data found in it'
run train CNN flat -o nothing
check "train and test are not classes" refused 'flat: train and test in it have pictures'
run train digits
check "too few words" [ $code -eq 2 ]

# Many of them.
mkdir p
cat >p/job.yaml <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: job}
spec:
  workers: 1
  launcher: None
  image: example.com/none
  command: [python3, -c, "import os; print('accuracy=%s' % (float(os.environ['PARAM_RATE']) + 1))", $(RATE)]
YAML
run sweep p/job.yaml --vary RATE=0.25..0.75 --tries 3 --at-once 1 --metric accuracy --save sweep.yaml
check "a sweep is saved: $(cat said)" [ $code -eq 0 ]
check "its form is said" told '3 trials with other RATE (uniform), by accuracy (Maximize)'
run check -f sweep.yaml
check "and right: $(cat said)" [ $code -eq 0 ]
run sweep p/job.yaml --vary RATE=0.25..0.75 --tries 3 --at-once 1 --metric accuracy --state state
check "and runs: $(tail -n 3 said)" [ $code -eq 0 -a -d state ]
run sweep p/job.yaml --vary RATE=0.25..0.75 --metric accuracy --name other --set gpus=2 --save -
check "--name and --set change the manifest" [ $code -eq 0 -a "$(grep -c 'name: other-sweep$' said) $(grep -c 'gpus: 2$' said)" = "1 1" ]
for word in --epochs=3 --rate=1 --output=x --test=x; do
    run sweep p/job.yaml --vary RATE=0.25..0.75 --metric accuracy $word --save -
    check "$word is not taken silently" refused "${word%%=*}: is given by p/job.yaml"
done
run sweep p/job.yaml --vary RATE=0.25..0.75
check "a program's metric is asked for" refused '--metric NAME is missing'
run sweep p/job.yaml --vary rateOfAll=1..2 --metric accuracy
check "a field that is not there" refused 'neither a field of the training'
run sweep p/job.yaml --metric accuracy
check "no field" refused '--vary FIELD=MIN..MAX'
run sweep CNN digits -o tried --vary learningRate=0.001..0.3 --vary batchSize=10,20 --save -
check "a sweep without any manifest: $(grep windlass: said)" [ $code -eq 0 ]
check "a wide range is of logarithms" grep -qF '{name: LEARNING_RATE, loguniform: {min: 0.001, max: 0.3}}' said
check "a list is a choice" grep -qF '{name: BATCH_SIZE, choice: [10, 20]}' said
check "by what a trainer reports" grep -qF 'objective: {metric: accuracy, goal: Maximize}' said

# Manifests to begin with.
for name in score program train torchrun sweep; do
    run init $name -o "my-$name.yaml"
    check "init $name: $(cat said)" [ $code -eq 0 ]
    run check -f "my-$name.yaml"
    check "it is right: $(head -n 3 said)" [ $code -eq 0 ]
    check "and has the name and the file's" [ "$(grep -c my-job "my-$name.yaml") $(grep -c "windlass run -f my-$name.yaml" "my-$name.yaml")" = "0 1" ]
done
run init train -o my-train.yaml
check "a file stays as it is" refused 'is there already'
run init trai
check "a name that is almost one" refused 'did you mean train?'
run init
check "the list" [ $code -eq 0 -a "$(grep -c '^  [a-z]* ' said)" -eq 5 ]
exit $failures
