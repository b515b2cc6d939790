#!/usr/bin/env bash
# Texts as training data: a small BERT from PyTorch learns the class of a text (CSV) and of each word (JSON Lines), with one
# manifest each, and has PyTorch's weights after three steps with the same rows. Networks with several inputs. What would be
# ignored silently is refused.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins texts 2 python3-torch
warm_python "$python" tests/e2e/train/texts.py numpy onnx torch torch.onnx
ask_python make "$data" >"$work/made" 2>&1 || { tail -3 "$work/made"; exit 3; }

text='"text": {"columns": ["text"], "label": "mood", "classes": ["poor", "fine"], "tokenizer": "data/tokenizer.json", "maxLength": 16, "path": "data'
words='"text": {"columns": ["words"], "labels": "tags", "classes": ["O", "NAME", "PLACE"], "format": "JSONLines", "tokenizer": "data/tokenizer.json", "maxLength": 16, "path": "data'
pair='"tensors": {"labels": "data/y.npy", "inputs": [{"name": "a", "path": "data/a.npy"}'
both=$pair', {"name": "ids", "path": "data/ids.npy"}]}'
sgd='"optimizer": {"kind": "SGD", "learningRate": "0.1", "momentum": "0", "weightDecay": "0"}, "epochs": 3, "schedule": {"kind": "Constant"}, "batchSize"'
adam='"optimizer": {"kind": "Adam", "learningRate": "0.003"}, "batchSize": 50, "epochs"'
# train NAME NETWORK DATA FIELDS: the log is in $work/NAME.log
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/%s.onnx"}, "data": {%s}, %s, "output": {"path": "out/%s"}}}' "$2" "$3" "$4" "$1") \
        timeout 300 "$trainer" train >"$work/$1.log" 2>&1 || { tail -4 "$work/$1.log" | sed 's/^/# /'; return 1; }
}
export WINDLASS_SPEC
last() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i} END {print $at}' "$out/$1/metrics.csv"; }
at_least() { awk -v is="$(last "$1" "$2")" -v low="$3" 'BEGIN {print "# " is; exit !(is >= low)}'; }
same() { ask_python same "$data" "$out/$1/model.onnx" "$2"; }
says() { grep -qF "$2" "$work/$1.log" || { tail -3 "$work/$1.log" | sed 's/^/# /'; return 1; }; }

check "a text's class: three steps with all rows" train few bert "\"train\": {$text/few.csv\"}}" "$sgd: 24"
check "give the weights of PyTorch" same few bert
check "a class for each word: three steps with all rows" train fewtags tagger "\"train\": {$words/few.jsonl\"}}" "$sgd: 24"
check "give the weights of PyTorch" same fewtags tagger
check "two inputs by name, in another order than the network's: three steps" train pair pair "\"train\": {$both}" "$sgd: 40"
check "give the weights of PyTorch" same pair pair
check "the network is trained whole" says few "39 of 39 tensors"
check "texts that are cut are counted" says few "are longer than maxLength 16 and are cut"
check "BERT learns the mood of a text" train bert bert "\"train\": {$text/reviews.csv\"}}, \"test\": {$text/tests.csv\"}}" "$adam: 6"
check "and knows it" at_least bert test_accuracy 0.95
check "BERT learns the tags of words" train tagger tagger "\"train\": {$words/tags.jsonl\"}}, \"test\": {$words/tagst.jsonl\"}}" "$adam: 6"
check "and knows them" at_least tagger test_accuracy 0.98

refused() { # TEXT NAME NETWORK DATA
    ! train "$2" "$3" "$4" "$adam: 1" >/dev/null && says "$2" "$1"
}
check "a network without a mask: padding would count as text" refused 'no input of the network takes "attention_mask": texts are filled up to maxLength' nomask nomask "\"train\": {$text/few.csv\"}}"
check "an input without data is named" refused 'the network has the input "ids", and a sample of data.train has "a"' lacks pair "\"train\": {$pair]}}"
check "data without an input are named" refused 'no input of the network takes "b": take it out of tensors.inputs' more pair "\"train\": {${both%]*}, {\"name\": \"b\", \"path\": \"data/a.npy\"}]}}"
check "samples without a name do not fit two inputs" refused 'the network has the input "ids", and a sample of data.train has "samples"' bare pair '"train": {"tensors": {"samples": "data/a.npy", "labels": "data/y.npy"}}'
check "classes in another order for the tests" refused "classes: they must be those of the training data, in the same order" order bert "\"train\": {$text/few.csv\"}}, \"test\": {${text/\"poor\", \"fine\"/\"fine\", \"poor\"}/few.csv\"}}"
sed 's/"tags": \["O", /"tags": [/' "$data/few.jsonl" >"$data/short.jsonl"
check "as many classes as words" refused 'it has no row that can be used; the first: column "tags" has ' short tagger "\"train\": {$words/short.jsonl\"}}"
printf 'text,mood\ngood,fine\nbad,Poor\n' >"$data/case.csv"
check "a label that is none of the classes" refused 'case.csv: row 2 (byte 20): column "mood": "Poor" is not one of classes' case bert "\"train\": {$text/case.csv\"}}"
exit $((failures > 0))
