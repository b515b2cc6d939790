#!/usr/bin/env bash
# Bad input ends within 5 s, with one line that names file and field, with the right exit code, with no
# child left behind; earlier results stay usable.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/media" "$work/data/model" "$work/data/photos" "$work/data/empty"
python3 tests/data/models/make.py "$work/data/model"
ffmpeg -v error -f lavfi -i testsrc2=size=160x120:rate=10:duration=2 -c:v libx264 -movflags +faststart "$work/data/media/clip.mp4"
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=10:duration=0.3 "$work/data/photos/p%d.png"
head -c $(($(stat -c %s "$work/data/media/clip.mp4") / 2)) "$work/data/media/clip.mp4" >"$work/data/media/cut.mp4"
: >"$work/data/media/zero.mp4"
echo "this is not a video" >"$work/data/media/text.mp4"
: >"$work/data/model/zero.onnx"
head -c 4000 /dev/urandom >"$work/data/model/noise.onnx"
# A length that promises 2^60 bytes.
printf '\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x0f' >"$work/data/model/hostile.onnx"
echo "not a picture" >"$work/data/photos-broken.txt"

manifest() { # video or files source, model, output, extra lines under spec
    cat <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: bad}
spec:
  input: $1
  scorer: {onnx: {path: $2}}
  output: {path: $3, mode: PerFile}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
    shift 3
    printf '%s\n' "$@"
}

# expect NAME EXIT_CODE PATTERN...: runs $work/job.yaml; EXIT_CODE may be a pattern; the single error line must match
# every PATTERN.
expect() {
    local name=$1 wanted=$2 start code elapsed
    shift 2
    rm -rf "$work/state"
    start=$(date +%s%N)
    timeout 120 "$windlass" run -f "$work/job.yaml" --volume data="$work/data" --state "$work/state" >"$work/out" 2>&1
    code=$?
    elapsed=$((($(date +%s%N) - start) / 1000000))
    local fine=yes
    [[ $code =~ ^$wanted$ ]] || { echo "# exit code $code, wanted $wanted"; fine=; }
    [ $elapsed -lt 60000 ] || { echo "# took $elapsed ms"; fine=; }
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$work/out" || { echo "# no line matches: $pattern"; fine=; }
    done
    [ -z "$(pgrep -f "$work" || true)" ] || { echo "# a child is left: $(pgrep -af "$work")"; fine=; pkill -9 -f "$work"; }
    [ -n "$fine" ] || sed 's/^/# /' "$work/out"
    check "$name" [ -n "$fine" ]
}
clip='{video: {path: data/media/clip.mp4}}'
net=data/model/invert.onnx

printf 'spec: [unclosed' >"$work/job.yaml"
expect "not YAML" 2 'job\.yaml:[0-9]' 'not YAML'
manifest "$clip" $net data/out '  inputs: 3' >"$work/job.yaml"
expect "an unknown field, with the nearest known one" 2 'spec\.inputs' 'did you mean .*input'
manifest '{video: {path: data/media/clip.mp4}, files: {path: data/photos}}' $net data/out >"$work/job.yaml"
expect "two inputs" 2 'spec\.input' 'exactly one'
manifest "$clip" $net data/out '  miniBatchSize: 0' >"$work/job.yaml"
expect "a number out of bounds" 2 'spec\.miniBatchSize'
manifest '{video: {path: data/../../etc/passwd}}' $net data/out >"$work/job.yaml"
expect "a path with .." 2 'spec\.input\.video\.path' '\.\.'
manifest '{video: {path: other/clip.mp4}}' $net data/out >"$work/job.yaml"
expect "a path in a volume that is not declared" 2 'spec\.input\.video\.path' 'volume'
rm -f "$work/job.yaml"
expect "no manifest" 2 'job\.yaml'

manifest '{video: {path: data/media/none.mp4}}' $net data/out >"$work/job.yaml"
expect "a missing video" 2 'spec\.input\.video' 'data/media/none\.mp4'
for kind in zero text cut; do
    manifest "{video: {path: data/media/$kind.mp4}}" $net data/out >"$work/job.yaml"
    expect "a $kind video" 2 'spec\.input\.video' "data/media/$kind\.mp4"
done
manifest '{files: {path: data/empty, pattern: "*.png"}}' $net data/out >"$work/job.yaml"
expect "an empty folder" 2 'spec\.input\.files' 'data/empty'
manifest '{files: {path: data/photos, pattern: "*.tiff"}}' $net data/out >"$work/job.yaml"
expect "a pattern without a match" 2 'spec\.input\.files' '\*\.tiff'
ln -s /etc "$work/data/photos/leaves"
manifest '{video: {path: data/photos/leaves/passwd}}' $net data/out >"$work/job.yaml"
expect "a link that leaves the volume" 2 'spec\.input\.video' 'leaves'
rm "$work/data/photos/leaves"

for kind in none zero noise hostile; do
    manifest "$clip" data/model/$kind.onnx data/out >"$work/job.yaml"
    expect "a $kind model" 2 'spec\.scorer\.onnx' "data/model/$kind\.onnx"
done
manifest "$clip" data/model/missing.onnx data/out >"$work/job.yaml"
expect "operators that are missing are all named" 2 'spec\.scorer\.onnx' 'Frobnicate' 'Quux'
manifest "$clip" 'data/model/fixed.onnx, preprocess: {width: 64, height: 64}' data/out >"$work/job.yaml"
expect "a network of another size" 2 'spec\.scorer\.onnx' '48|32'
manifest "$clip" $net data/media/clip.mp4/out >"$work/job.yaml"
expect "an output folder that can't be made" 2 'spec\.output\.path' 'data/media/clip\.mp4/out'
manifest '{files: {path: data/photos, pattern: "*.png"}}' $net data/photos/painted >"$work/job.yaml"
expect "results among the inputs" 2 'spec\.output\.path' 'beside'
ln -s photos "$work/data/alias"
manifest '{files: {path: data/photos, pattern: "*.png"}}' $net data/alias/painted >"$work/job.yaml"
expect "results among the inputs by another name" 2 'spec\.output\.path' 'beside'
manifest "$clip" $net data/media >"$work/job.yaml"
expect "a painting in the place of its video" 2 'spec\.output\.path'
cp "$work/data/media/clip.mp4" "$work/data/media/summary.json"
for name in clip.mp4 summary.json; do
    manifest "{video: {path: data/media/$name}}" 'data/model/classes.onnx, postprocess: {type: Classes}' data/media |
        sed 's/mode: PerFile/mode: AppendRow, appendRowFileName: clip.mp4/' >"$work/job.yaml"
    expect "rows, or a summary, in the place of the video $name" 2 "spec\.output\.path: data/media/$name is the input itself"
    check "which stays" [ "$(cmp "$work/data/media/clip.mp4" "$work/data/media/$name" && ls -A "$work/data/media" | grep -c windlass)" = 0 ]
done
rm "$work/data/media/summary.json"

# A broken picture fails the job after its tries; the others are done and usable.
cp "$work/data/photos-broken.txt" "$work/data/photos/p9.png"
manifest '{files: {path: data/photos, pattern: "*.png"}}' $net data/out '  miniBatchSize: 1' '  retry: {maxTries: 2}' >"$work/job.yaml"
expect "a broken picture is named" 1 'p9\.png'
check "what was finished before stays" [ "$(find "$work/data/out" -name 'p[0-9].png' | wc -l)" = 3 ]
check "the summary names the broken picture" grep -q 'p9\.png' "$work/data/out/summary.json"
manifest '{files: {path: data/photos, pattern: "*.png"}}' $net data/tolerant '  miniBatchSize: 1' '  retry: {maxTries: 2}' \
    '  errorThreshold: 1' >"$work/job.yaml"
expect "a job that stands one broken picture succeeds, and says so" 0 '1 files failed'
check "with the others' results" [ "$(find "$work/data/tolerant" -name 'p[0-9].png' | wc -l)" = 3 ]
cp "$work/data/photos-broken.txt" "$work/data/photos/p8.png"
manifest '{files: {path: data/photos, pattern: "*.png"}}' $net data/strict '  miniBatchSize: 1' '  retry: {maxTries: 2}' \
    '  errorThreshold: -1' '  miniBatchErrorThreshold: 25%' >"$work/job.yaml"
expect "of two it does not, when that is more than its share" 1 '2 of 5 mini-batches have failed, spec.miniBatchErrorThreshold is 25%'
exit $((failures > 0))
