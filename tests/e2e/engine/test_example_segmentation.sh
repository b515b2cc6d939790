#!/usr/bin/env bash
# examples/segmentation as it is written: PaddleOCR's network, if its package can be fetched, colours each line of each page, and
# nothing else.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/segmentation "$work/example"
rm -rf "$work/example/data/marked"
"$work/example/fetch.sh" >"$work/log" 2>&1 || { tail -n 2 "$work/log" | sed 's/^/# /'; echo "skip examples/segmentation: its network could not be fetched"; exit 0; }
(cd "$work" && timeout 300 "$windlass" run -f example/batchscore.yaml --state "$work/state" >"$work/log" 2>&1 </dev/null)
code=$?
check "examples/segmentation runs as written" [ $code -eq 0 ]
[ $code -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
for i in 1 2 3 4; do
    for folder in pages marked; do
        ffmpeg -v error -y -i "$work/example/data/$folder/page-$i.png" -pix_fmt rgb24 -f rawvideo "$work/$folder-$i"
    done
done
check "each line of text is coloured, and nothing else" python3 - "$work" <<'P'
import json, sys
for i, (name, lines) in enumerate(json.load(open(f"{sys.argv[1]}/example/data/wanted.json")).items(), 1):
    before, after = (open(f"{sys.argv[1]}/{folder}-{i}", "rb").read() for folder in ("pages", "marked"))
    changed = {(k // 3 % 640, k // 3 // 640) for k in range(0, len(before), 3) if before[k:k + 3] != after[k:k + 3]}
    assert len(before) == len(after) > 0, name
    for left, top, right, bottom in lines:
        columns = {x for x, y in changed if left <= x < right and top <= y < bottom}
        assert len(columns) > 0.8 * (right - left), (name, left, top, len(columns))
    outside = [(x, y) for x, y in changed if not any(a - 4 <= x < c + 4 and b - 4 <= y < d + 4 for a, b, c, d in lines)]
    assert not outside, (name, outside[:3])
P
exit $((failures > 0))
