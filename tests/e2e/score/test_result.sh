#!/usr/bin/env bash
# What a result says about itself: the code of a command among the files of the scorer.
set -u
unset CUDA_VISIBLE_DEVICES
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code/lib" "$work/data/in"
for i in 0 1 2 3 4 5 6 7; do echo "$i" >"$work/data/in/f$i"; done

# It scores with lib/value.py. A file "stop" makes it end, once, with another value.py in place.
cat >"$work/code/score.py" <<'PY'
import json, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from value import VALUE
swap = os.path.join(os.path.dirname(os.path.abspath(__file__)), "swap")
for line in sys.stdin:
    asked = json.loads(line)
    if "init" in asked:
        print('{"ready":true}', flush=True)
        continue
    if os.path.exists(swap) and any(name.endswith("f5") for name in asked["items"]):
        os.rename(swap, os.path.join(os.path.dirname(swap), "lib", "value.py"))
        sys.exit(1)
    print(json.dumps({"id": asked["id"], "results": [VALUE for _ in asked["items"]]}), flush=True)
PY
echo 'VALUE = "one"' >"$work/code/lib/value.py"
echo 'VALUE = "two"' >"$work/two.py"

job() { # NAME: runs it into data/NAME; its exit code is in $code
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: data/in}}
  scorer: {command: {command: [python3, \$(code)/score.py]}}
  output: {path: data/$1, mode: ${2:-AppendRow}}
  miniBatchSize: 1
  retry: {maxTries: 2, timeoutSeconds: 20}
  workers: {min: 1, max: 1}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" >"$work/$1.log" 2>&1 </dev/null
    code=$?
}
sha() { sha256sum "$1" | cut -d' ' -f1; }

##### the code of a command ######################################################################
job plain
check "a job with a program succeeds" [ $code -eq 0 ]
check "its summary names the program's code by SHA-256" [ "$(jq -cS .files "$work/data/plain/summary.json")" = \
    "{\"scorer.command: code/lib/value.py\":\"$(sha "$work/code/lib/value.py")\",\"scorer.command: code/score.py\":\"$(
        sha "$work/code/score.py")\"}" ]
cp "$work/two.py" "$work/code/swap"
job swapped
check "a job whose program was replaced while it ran fails" [ $code -eq 1 ]
check "and says which file" grep -q "spec.scorer.command: code/lib/value.py changed while the job ran: a program that \
starts now would read a file with SHA-256 $(sha "$work/two.py" | cut -c1-12)" "$work/swapped.log"
check "no row is of the other code" [ "$(sort -u "$work/data/swapped/rows.txt" | xargs)" = one ]
[ $failures -eq 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
exit $((failures > 0))
