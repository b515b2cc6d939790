#!/usr/bin/env bash
# examples/detection as it is written: BlazeFace and photos, if their packages can be fetched: a box around nearly every face, drawn
# and as JSON.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/detection "$work/example"
rm -rf "$work/example/data"
"$work/example/fetch.sh" >"$work/log" 2>&1 || { tail -n 2 "$work/log" | sed 's/^/# /'; echo "skip examples/detection: its network or its photos could not be fetched"; exit 0; }
for name in batchscore boxes; do
    (cd "$work" && timeout 300 "$windlass" run -f "example/$name.yaml" --state "$work/$name" >"$work/log" 2>&1 </dev/null)
    code=$?
    check "examples/detection: $name.yaml runs as written" [ $code -eq 0 ]
    [ $code -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
done
# Of 3, 3, 3, 4, 5 and 4 faces; one looks down.
check "a box for each face that does not look down" \
    [ "$(jq -c '.boxes | length' "$work/example/data/found/boxes.jsonl" | tr '\n' ' ')" = "3 2 3 4 5 4 " ]
for folder in photos marked; do
    ffmpeg -v error -y -i "$work/example/data/$folder/sample5.jpg" -pix_fmt gray -f rawvideo "$work/$folder"
done
check "the photo is itself but for their outlines" python3 - "$work" <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1] + "/example/data/found/boxes.jsonl")]
before, after = (open(f"{sys.argv[1]}/{folder}", "rb").read() for folder in ("photos", "marked"))
assert len(before) == len(after) == 1920 * 1398
near = lambda x, y, box: box[0] - 12 < x < box[2] + 12 and box[1] - 12 < y < box[3] + 12
changed = [(k % 1920, k // 1920) for k in range(0, len(before), 7) if abs(before[k] - after[k]) > 40]
boxes = [box["box"] for box in rows[4]["boxes"]]
stray = [place for place in changed if not any(near(*place, box) for box in boxes)]
assert len(changed) > 200 and len(stray) < len(changed) / 50, (len(changed), len(stray))
P
exit $((failures > 0))
