#!/usr/bin/env bash
# Which files a job takes, and in what order: a pattern, a manifest, the time of their last change; and that the
# list is kept: a run does not see files that come after it began. Through `windlass run`.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/in/deep" "$work/model"
python3 tests/data/models/make.py "$work/model"
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=10 -frames:v 6 "$work/data/in/p%d.png" </dev/null || exit 3
cp "$work/data/in/p1.png" "$work/data/in/deep/p7.png"
echo "no picture" >"$work/data/in/notes.txt"
# run NAME FILES: runs a job with that input and an output of its name; its exit code is in $code.
run() {
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: files}
spec:
  input: {files: $2}
  scorer: {onnx: {path: model/invert.onnx}}
  output: {path: data/$1}
  miniBatchSize: 2
  workers: {max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq "${3:-0}" ] || sed 's/^/# /' "$work/log"
}
made() { (cd "$work/data/$1" && find . -name '*.png' | sort | tr '\n' ' '); }
# The lines that the run has kept, in their order.
lines() { find "$work/data/$1/.windlass" -path '*/list/*' | sort | xargs -d '\n' grep -hoE '^"[^"]*\.png"' | tr '\n' ' '; }

run all '{path: data/in, pattern: "*.png"}'
check "a pattern: at any depth, by name" \
    [ "$code $(lines all)" = '0 "deep/p7.png" "p1.png" "p2.png" "p3.png" "p4.png" "p5.png" "p6.png" ' ]
check "each has a result of its name" [ "$(made all)" = "./deep/p7.png ./p1.png ./p2.png ./p3.png ./p4.png ./p5.png ./p6.png " ]
printf 'p5.png\ndeep/p7.png\np2.png\n' >"$work/data/list.txt"
run listed '{path: data/in, manifest: data/list.txt}'
check "a manifest: these, in its order" [ "$code $(lines listed)" = '0 "p5.png" "deep/p7.png" "p2.png" ' ]
check "and no others" [ "$(made listed)" = "./deep/p7.png ./p2.png ./p5.png " ]
echo none.png >>"$work/data/list.txt"
run missing '{path: data/in, manifest: data/list.txt}' 1
check "a file of the manifest that is not there fails, by name" grep -q 'none.png' "$work/log"
check "the others are there" [ "$code $(made missing)" = "1 ./deep/p7.png ./p2.png ./p5.png " ]
printf 'p5.png\n' >"$work/data/list.txt"
mkdir "$work/data/lists"
ln -s lists "$work/data/alias"
for name in summary.json failed.jsonl mini_batches.csv workers.csv report.html; do
    cp "$work/data/list.txt" "$work/data/lists/$name"
    run lists "{path: data/in, manifest: data/alias/$name}" 2
    check "a manifest that $name would replace is refused by name" \
        [ "$code $(grep -c "spec.output.path: data/lists/$name is the input's manifest" "$work/log")" = "2 1" ]
done
check "and stays" [ "$(cat "$work"/data/lists/* | sort -u) $(find "$work/data/lists" -mindepth 1 -name '.*' | wc -l)" = "p5.png 0" ]
mv "$work/data/lists/summary.json" "$work/data/lists/list.txt"
run lists '{path: data/in, manifest: data/lists/list.txt}'
check "a file of another name may be there" [ "$code $(made lists)$(cat "$work/data/lists/list.txt")" = "0 ./p5.png p5.png" ]
for i in 4 1 6 2 5 3; do touch -d "2026-01-0$i 12:00" "$work/data/in/p$((7 - i)).png"; done
touch -d "2025-01-01" "$work/data/in/deep/p7.png"
run changed '{path: data/in, pattern: "*.png", order: Modified}'
check "order Modified: the oldest first" \
    [ "$code $(lines changed)" = '0 "deep/p7.png" "p6.png" "p5.png" "p4.png" "p3.png" "p2.png" "p1.png" ' ]

##### the same again #############################################################################
run all '{path: data/in, pattern: "*.png"}' # the files were touched, so they are scored again
before=$(stat -c %Y.%i "$work/data/all/p1.png")
run all '{path: data/in, pattern: "*.png"}'
check "a finished run does nothing" [ "$code $(stat -c %Y.%i "$work/data/all/p1.png")" = "0 $before" ]
cp "$work/data/in/p1.png" "$work/data/in/p0.png"
run all '{path: data/in, pattern: "*.png"}'
check "with a file more it is scored" [ "$code $(made all | wc -w)" = "0 8" ]
check "and nothing else was touched" [ "$(stat -c %Y.%i "$work/data/all/p1.png")" = "$before" ]
exit $((failures > 0))
