#!/usr/bin/env bash
# The unchanged examples/sweep, by `windlass run`: each sweep finds a good model, registers it, and a BatchScore scores
# with it through `latest`: boosted trees with scikit-learn's results (1e-5), clothes as accurately as the trainer
# measured. It uses 1,000 pictures of Fashion-MNIST for training and 500 others. `make test` draws one of the two.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-sklearn python3-onnx dataset-fashion-mnist) || exit 3
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_sweep_examples: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER
mkdir "$work/clothes"
cp -r examples/sweep examples/trees "$work"
cp examples/fashion-mnist/make.py "$work/clothes"
cp -r examples/fashion-mnist/data "$work/clothes"
rm -rf "$work/trees/data/scores" "$work"/clothes/data/{test,trained,scored,tried,models,sweep-scored} "$work"/sweep/trees/{tried,models,scores}
/usr/bin/python3 - "$work/clothes/data" <<'P'
import gzip, struct, sys
for name, count in (("train", 1000), ("t10k", 500)):
    for kind, head, item in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
        whole = gzip.open(f"/usr/share/datasets/fashion-mnist/{name}-{kind}-ubyte.gz").read()
        with gzip.open(f"{sys.argv[1]}/{name}-{kind}-ubyte.gz", "wb", 1) as file:
            file.write(whole[:4] + struct.pack(">I", count) + whole[8:head + count * item])
P
cd "$work/sweep" || exit 3
run() { # MANIFEST [OPTIONS]: its exit code is in $code
    timeout -k 5 400 "$build/windlass" run -f "$1.yaml" --state "$work/state-$1" "${@:2}" >"$work/said" 2>"$work/told" </dev/null
    code=$?
}
show() { [ "$failures" -eq "${shown:-0}" ] || sed 's/^/# /' "$work/said" <(tail -n 30 "$work/told"); shown=$failures; }
# NAME FIELD: a value of the best trial, from the last line of the run; and which trial it is.
value() { sed -n "s/^$1 succeeded in .* with $2 \([0-9.]*\), registered as .*/\1/p" "$work/said"; }
best() { sed -n "s/^\* *$1-\([0-9]*\) .*/\1/p" "$work/said"; }
# registered NAME MODELS TRIED FILE: there is one version, which `latest` names; it is the best trial's, complete, with
# its description.
registered() {
    local version at trial
    version=$(cat "$2/$1/latest") && at=$2/$1/$version && trial=$(best "$1")
    [[ $version =~ ^20[0-9]{6}T[0-9]{6}Z-[0-9a-f]{8}$ ]] && [ "$(find "$2/$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)" = "$(printf '%s\n' "$version" latest | sort | xargs)" ] &&
        cmp "$at/$4" "$(echo "$3/$1"-*"/$trial/$4")" &&
        jq -e --arg trial "$1-$trial" --arg value "$(value "$1" "$5")" '.trial == $trial and .objective.value == $value' "$at/metadata.json" >/dev/null &&
        jq -r '.files[] | .sha256 + "  " + .name' "$at/metadata.json" | (cd "$at" && sha256sum --quiet -c) && jq -r '.files[].name' "$at/metadata.json" | grep -qx "$4"
}

##### boosted trees ###############################################################################
trees_example() {
    run trees
    trees() { # guessing the most frequent class would give 0.66
        [ $code -eq 0 ] && awk -v best="$(value trees-sweep logloss)" 'BEGIN { exit !(best > 0.005 && best < 0.1) }' &&
            [ "$(grep -cE '^\*? +trees-sweep-00(0[0-9]|1[01]) +(Completed|Stopped) ' "$work/said")" -eq 12 ]
    }
    check "examples/sweep/trees.yaml finds good trees" trees; show
    check "and registers them, whole" registered trees-sweep trees/models trees/tried model.onnx logloss; show
    # The result of the sweep: the registered files, all trials, and the hash of each one's own result.json.
    told_by_sweep() {
        local at trial
        at=trees/models/trees-sweep/$(cat trees/models/trees-sweep/latest)
        trial=$(best trees-sweep)
        "$build/windlass" verify "$at" && [ "$(jq -r '[.kind, .name, (.sweep.trials | length), .sweep.trialsLeftOut, .sweep.best.trial] | tostring' "$at/result.json")" = "[\"Sweep\",\"trees-sweep\",12,0,\"trees-sweep-$trial\"]" ] &&
            [ "$(jq -r .sweep.best.resultSHA256 "$at/result.json")" = "$(sha256sum trees/tried/trees-sweep-*/"$trial/result.json" | cut -d' ' -f1)" ] &&
            cmp "$at/result.original.json" trees/tried/trees-sweep-*/"$trial/result.json" &&
            [ "$(jq '[.sweep.trials[] | select(.state == "Completed" and (.resultSHA256 | length) == 64 and .values)] | length' "$at/result.json")" -ge 1 ] &&
            echo x >>"$at/model.onnx.new" && ! "$build/windlass" verify "$at" >/dev/null && rm "$at/model.onnx.new"
    }
    check "and its result names all trials, and holds" told_by_sweep; show
    run trees-score --volume data=../trees/data
    check "a BatchScore scores rows with the latest" [ $code -eq 0 ]; show
    scored() {
        /usr/bin/python3 - trees/scores/scores.jsonl "trees/models/trees-sweep/$(cat trees/models/trees-sweep/latest)/scores.csv" ../trees/data/truth.txt <<'P'
import json, sys
told = [json.loads(line)["classes"][0] for line in open(sys.argv[1])]
shares = [float(line) for line in open(sys.argv[2]).read().split()[1:]]
truth = open(sys.argv[3]).read().split()
assert len(told) == len(shares) == len(truth) == 169, (len(told), len(shares))
worst = 0
for row, share in zip(told, shares):
    assert row["label"] == ("malignant" if share > 0.5 else "benign"), (row, share)
    worst = max(worst, abs(row["score"] - max(share, 1 - share)))
right = sum(row["label"] == label for row, label in zip(told, truth))
print(f"# scores differ from scikit-learn's by {worst:.1e} at most; {right} of 169 right")
assert worst < 1e-5 and right > 0.93 * 169
P
    }
    check "as scikit-learn's own predict_proba, each row" scored
}

##### clothes #####################################################################################
clothes_example() {
    run sweep --volume data=../clothes/data
    clothes() { # guessing one of ten classes would give 0.1
        [ $code -eq 0 ] && awk -v best="$(value fashion-sweep accuracy)" 'BEGIN { exit !(best > 0.6) }' &&
            [ "$(grep -cE '^\*? +fashion-sweep-00(0[0-9]|1[01]) +(Completed|Stopped) ' "$work/said")" -eq 12 ]
    }
    check "examples/sweep/sweep.yaml finds a setting that learns clothes" clothes; show
    check "and registers the network, whole" registered fashion-sweep ../clothes/data/models ../clothes/data/tried model.onnx accuracy; show
    version=$(cat ../clothes/data/models/fashion-sweep/latest)
    /usr/bin/python3 ../clothes/make.py # the array of the test pictures
    run sweep-score --volume data=../clothes/data
    check "a BatchScore scores pictures with the latest" [ $code -eq 0 ]; show
    # The registered value is that of the trainer's best epoch.
    right() {
        jq -r '.classes[0].label' ../clothes/data/sweep-scored/clothes.jsonl | paste - ../clothes/data/test/labels.txt |
            awk -F'\t' -v wanted="$(jq -r .objective.value "../clothes/data/models/fashion-sweep/$version/metadata.json")" '
                { right += $1 == $2 } END { print "# right: " right / NR ", registered with " wanted; exit !(NR == 500 && (right / NR - wanted) ^ 2 < 0.005 ^ 2) }'
    }
    check "as many right as the trainer has measured" right
}

draw "examples of Sweeps" 1 trees clothes
for example in "${drawn[@]}"; do "${example}_example"; done
exit $((failures > 0))
