#!/usr/bin/env bash
# A network with three outputs, each with its own loss, weight and labels, against PyTorch's in double precision: the
# gradients of each tensor, and whole trainings by one and by three ranks, in parts, and after a stop. What does not fit is
# refused by name.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins outputs 1 python3-torch
warm_python /usr/bin/python3 tests/e2e/losses/outputs.py numpy onnx torch
python() { ask_python "$@" >"$work/errors" || { tail -3 "$work/errors" | sed 's/^/# /'; return 1; }; }
python make "$data" || exit 3

usual='[{"output": "kind", "labelSmoothing": "0.1", "classWeights": ["0.5", "2", "1"]}, {"output": "age", "loss": "Huber", "weight": "0.25"}, {"output": "tags", "weight": "2"}]'
targets() { local name list=; for name in kind age tags; do list+="${list:+, }{\"name\": \"$name\", \"path\": \"data/$name$1.npy\"}"; done; echo "[$list]"; }
# train LOSSES TARGETS FIELDS OUT [COMMAND ...]: the log is in $work/log
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/%s.onnx"}, "data": {"train": {"tensors": {"samples": "data/x.npy", %s}}%s}, "output": {"path": "out/%s"}, %s %s}}' \
        "${network:-heads}" "$2" "$tested" "$4" "${1:+\"losses\": $1,}" "$3") timeout -k 5 300 "${@:5}" "$trainer" train >"$work/log" 2>&1 ||
        { tail -3 "$work/log" | sed 's/^/# /'; return 1; }
}
export WINDLASS_SPEC
tested=", \"test\": {\"tensors\": {\"samples\": \"data/xt.npy\", \"outputs\": $(targets t)}}"
outputs="\"outputs\": $(targets '')"
once='"batchSize": 400, "epochs": 1, "optimizer": {"learningRate": "1", "momentum": "0"}'
many='"batchSize": 400, "epochs": 20, "optimizer": {"learningRate": "0.5", "momentum": "0"}'
check "one step is taken" train "$usual" "$outputs" "$once" once
check "three ranks take it, each with other labels" train "$usual" "$outputs" "$once" ranks mpirun --oversubscribe --bind-to none -np 3
check "a step of four parts is taken" train "$usual" "$outputs" "$once, \"gradientAccumulationSteps\": 4" parts
check "the gradients of all three are PyTorch's, each tensor" python gradients "$data" "$out"/{once,ranks,parts}/model.onnx
check "twenty steps are taken" train "$usual" "$outputs" "$many" many
check "to PyTorch's weights; the log has each loss by its name, and the sum" python trained "$data" "$out/many/model.onnx" 20 "$work/log"
names() { "$build/windlass-agent" model check "$out/many/model.onnx" | grep -cE '\b(age|kind|tags)\b' >"$work/count"; [ "$(<"$work/count")" -ge 3 ]; }
check "the network that is written has all three outputs" names

long='"batchSize": 10, "epochs": 60, "optimizer": {"learningRate": "0.05"}'
last_losses() { grep -o 'losses of the outputs: .*' "$work/log" | tail -2; }
check "2,400 steps are taken" train "$usual" "$outputs" "$long" long
last_losses >"$work/whole"
: >"$work/log"
train "$usual" "$outputs" "$long" halves >/dev/null & pid=$!
for ((i = 0; i < 600; i++)); do grep -q 'epoch 3 of 60' "$work/log" && break || sleep 0.1; done
kill -TERM "$(pgrep -P "$pid" -x timeout)"
wait "$pid"
check "the same, which were stopped in between" train "$usual" "$outputs" "$long" halves
check "go on" grep -q 'continues from the checkpoint of step' "$work/log"
check "to the same bits" cmp "$out/long/model.onnx" "$out/halves/model.onnx"
check "and the same losses, each by its name" diff <(last_losses) "$work/whole"

##### by its manifest ############################################################################
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: job}
spec:
  workers: 2
  trainer: {model: {path: data/heads.onnx}, epochs: 2, batchSize: 100, output: {path: out/job}, losses: $usual,
    data: {train: {tensors: {samples: data/x.npy, $outputs}}}}
  volumes: [{name: data, hostPath: {path: $data}}, {name: out, hostPath: {path: $out}}]
M
job() { timeout 120 env XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none "$build/windlass" run -f "$work/job.yaml" >"$work/job.log" 2>&1 </dev/null; }
check "windlass run: trained" job || tail -3 "$work/job.log" | sed 's/^/# /'
has_names() {
    XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none "$build/windlass" status job -o json >"$work/job.json" 2>&1
    jq -e '.status.losses | keys == ["age", "kind", "tags"] and all(.[]; tonumber > 0)' "$work/job.json" >/dev/null || { sed 's/^/# /' "$work/job.json"; return 1; }
}
check "its status has each loss by its name" has_names
of_job() { XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none "$build/windlass" "$1" job "${@:2}"; }
trained() { # FROZEN: the status and the log say the same
    local said
    of_job logs >"$work/job.rank" 2>&1
    said=$(jq -r '.status.trained | "\(.tensors) of \(.ofTensors) tensors, \(.parameters) of \(.ofParameters) parameters are trained; frozen: "' "$work/job.json")
    grep -qF "$said$1" "$work/job.rank" || { echo "# $said"; grep 'are trained' "$work/job.rank" | sed 's/^/# /'; return 1; }
}
check "and how much of the network is trained, as the log says" trained none
check "and no loss that has grown" eval '! grep -q "has not fallen" "$work/job.log" "$work/job.json"'
sed -i 's|model: {path: data/heads.onnx}|model: {path: data/heads.onnx, freeze: ["trunk.*"]}, optimizer: {kind: Adam, learningRate: "500"}|; s/out\/job/out\/wild/' "$work/job.yaml"
check "without the trunk, at a rate that spoils all: trained" job || tail -3 "$work/job.log" | sed 's/^/# /'
frozen() {
    of_job status -o json >"$work/job.json" 2>&1
    trained "trunk.weight, trunk.bias" && jq -e '.status.trained | .ofTensors - .tensors == 2 and .ofParameters - .parameters == 56' "$work/job.json" >/dev/null
}
check "its status counts what is frozen" frozen
grown() {
    jq -e '(.status.loss | tonumber) > (.status.firstLoss | tonumber) and (.status.conditions | any(.message | test("loss [0-9.e+]+; the loss has not fallen: it was [0-9.]+ at the first step;")))' "$work/job.json" >/dev/null &&
        grep -qE '^  loss     it has not fallen: [0-9.]+ at the first step, [0-9.e+]+ in the last epoch$' "$work/job.log" || { tail -6 "$work/job.log" | sed 's/^/# /'; jq -c .status "$work/job.json"; return 1; }
}
check "and it ends with the news that its loss has not fallen" grown

##### what does not fit ##########################################################################
refused() { # TEXT LOSSES TARGETS
    local tested=
    train "$2" "$3" "$once" refused >/dev/null
    [ $? -eq 1 ] && grep -qF -- "$1" "$work/log" || { tail -2 "$work/log" | sed 's/^/# /'; return 1; }
}
check "an output without a loss is refused" refused 'losses: the output "tags" of the network has none: give it one, or export the network without it' \
    '[{"output": "kind"}, {"output": "age", "loss": "Huber"}]' "$outputs"
check "a loss without an output" refused 'losses[1]: output: the network has no output "years"; it has "age", "kind", "tags"' '[{"output": "kind"}, {"output": "years"}]' "$outputs"
check "an output with two losses" refused 'losses[1]: output: "kind" is a duplicate' '[{"output": "kind"}, {"output": "kind"}]' "$outputs"
check "no losses for three outputs" refused 'data.train.tensors.outputs: labels by the names of outputs belong to losses' '' "$outputs"
check "nor labels of one" refused 'the network has 3 outputs, and losses are given for 1' '' '"labels": "data/kind.npy"'
check "a loss without labels" refused 'losses[1]: output "age": data.train has no labels of this name' "$usual" '"outputs": [{"name": "kind", "path": "data/kind.npy"}]'
check "classes where numbers are wanted" refused 'losses, output "kind": loss: Huber does not fit targets that are classes' \
    '[{"output": "kind", "loss": "Huber"}, {"output": "age", "loss": "Huber"}, {"output": "tags"}]' "$outputs"
check "labels of another shape" refused 'node "tags": cross entropy needs' "$usual" "${outputs/tags.npy/kind.npy}"
network=crowd
check "more outputs than losses are allowed" refused 'losses: the network has 9 outputs, and at most 8 are trained' '[{"output": "out0"}]' "$outputs"
exit $((failures > 0))
