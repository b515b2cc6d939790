#!/usr/bin/env bash
# What result.json costs at the end of a job, and `windlass verify`: a command's output with many small files, and one
# with a few large ones, which nothing makes in the measured time. Prints seconds, seconds of processor, and the largest
# process, for both.
#   FILES=1000000: small files; GIB=4: of the large one; FOLDER: a folder of earlier small files, FOLDER/out/made
set -eu
cd "$(dirname "$0")/../.."
: "${FILES:=1000000}" "${GIB:=4}" "${FOLDER:=}"
windlass=$(realpath build/windlass)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small=${FOLDER:-$work}/out
mkdir -p "$work/out/large"
[ -d "$small/made" ] || python3 - "$small/made" "$FILES" <<'P'
import os, sys
folder, count = sys.argv[1], int(sys.argv[2])
for i in range(count):
    if i % 1000 == 0:
        part = f"{folder}/part-{i // 1000:04}"
        os.makedirs(part)
    with open(f"{part}/result-{i % 1000:06}.json", "w") as f:
        f.write('{"value": %d}\n' % i)
P
head -c "${GIB}G" /dev/zero >"$work/out/large/zero"
row() { printf '%-34s %9s %9s %9s %12s\n' "$@"; }
measure() { # WHAT COMMAND...
    local what=$1 seconds user system largest
    shift
    /usr/bin/time -o "$work/times" -f '%e %U %S %M' "$@" >"$work/said" 2>&1 || { tail -20 "$work/said" >&2; exit 1; }
    read -r seconds user system largest <"$work/times"
    row "$what" "$seconds" "$user" "$system" "$largest"
}
job() { # WHAT FOLDER OUTPUT
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: bench}
spec:
  workers: 1
  launcher: None
  image: registry.test/any:1
  command: ["true"]
  outputs: [{id: MADE, path: out/$3}]
  volumes: [{name: out, hostPath: {path: $2}}]
M
    rm -rf "$work/state"
    measure "$1: the job" "$windlass" run -f "$work/job.yaml" --state "$work/state"
    measure "$1: verify" "$windlass" verify "$2/$3"
}
row "" seconds user system "largest, KiB"
job "a file of $GIB GiB" "$work/out" large
job "$(find "$small/made" -name '*.json' -not -name 'result.*' | wc -l) files" "$(realpath "$small")" made
