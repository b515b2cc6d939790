#!/usr/bin/env bash
# How much median stopping saves: examples/sweep/sweep.yaml (Fashion-MNIST, all pictures) unchanged, and without
# earlyStopping: the same trials, as Random gives the same points. It counts all steps of the trials, also those after
# the last report of a stopped one. Goal: 25 % fewer steps, and the same best accuracy (HyperDrive's authors claim 25 to
# 35 %).
#   SEEDS="7": seeds of spec.algorithm, two runs each
#   AT_ONCE=4: parallel trials, as in the manifest (windlass run --workers)
#   STATE=DIR: keeps all files, and runs only what is missing
#   CURVES=FILE: the reports of each trial without earlyStopping
# Prints a table, writes build/bench/sweep_median.json. It takes 20 minutes on two processors for each seed.
set -eu
cd "$(dirname "$0")/../.."
: "${SEEDS:=7}" "${AT_ONCE:=4}"
make --no-print-directory build/windlass build/windlass-agent build/windlass-trainer
mkdir -p build/bench
examples/fashion-mnist/fetch.sh
work=${STATE:-$(mktemp -d)}
[ -n "${STATE:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data"
cp examples/fashion-mnist/data/*.gz "$work/data"
example=examples/sweep/sweep.yaml
grep -q '^  earlyStopping: {median: ' $example && grep -q 'seed: 7}$' $example
for seed in $SEEDS; do
    sed "s/seed: 7}$/seed: $seed}/" $example >"$work/median-$seed.yaml"
    sed '/^  earlyStopping: /d' "$work/median-$seed.yaml" >"$work/whole-$seed.yaml"
    for name in whole-$seed median-$seed; do
        [ ! -s "$work/$name.said" ] || continue
        build/windlass run -f "$work/$name.yaml" --volume data="$work/data" --state "$work/$name" --workers "$AT_ONCE" \
            >"$work/said" </dev/null
        mv "$work/said" "$work/$name.said"
    done
done
# shellcheck disable=SC2086 # seeds are words
python3 tests/bench/tables/sweep_median.py "$work" "$AT_ONCE" "${CURVES:-}" $SEEDS
