#!/usr/bin/env bash
# A folder beside the manifest is a volume for `windlass run` without a declaration; `windlass check` says what a cluster wants.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/home
mkdir -p "$work/job" "$work/elsewhere"
cp -r examples/npy/data "$work/job/data"
sed '/^  volumes:/,$d' examples/npy/batchscore.yaml >"$work/job/job.yaml"
cd "$work/elsewhere" || exit 3
timeout 120 "$windlass" run -f ../job/job.yaml >said 2>&1 </dev/null
check "a run takes the folder" [ $? -eq 0 ]
check "and writes there" [ -s ../job/data/read/digits.jsonl ]
"$windlass" check -f ../job/job.yaml >said 2>&1
check "a cluster would refuse it" [ $? -eq 2 ]
check "and check says what it wants" grep -qF 'spec.volumes {name: data, persistentVolumeClaim: {claimName: data}}' said
printf '  volumes:\n    - {name: data, persistentVolumeClaim: {claimName: data}}\n' >>../job/job.yaml
check "that is right" "$windlass" check -f ../job/job.yaml
timeout 120 "$windlass" run -f ../job/job.yaml >said 2>&1 </dev/null
check "and the same run" [ $? -eq 0 ]
mv ../job/data ../job/other
sed -i '/^  volumes:/,$d' ../job/job.yaml
timeout 120 "$windlass" run -f ../job/job.yaml >said 2>&1 </dev/null
check "without the folder it is refused as ever" grep -q 'is neither in a volume of spec.volumes' said
exit $((failures > 0))
