#!/usr/bin/env bash
# The kinds of film of test_video_tracks (sound, subtitles, chapters and pictures in all forms), by `windlass run`: each is
# whole, or summary, and the end of the run, name what it lacks; the frames are all there, and windlass verify holds.
# SOAK_SEED: which one; SOAK_ROUNDS=2000: all.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=${BUILD:-build} kinds=${BUILD:-build}/tests/unit/agent/data/video/test_video_tracks
built "$kinds" || { echo "not ok test_films: $kinds cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/media" "$work/data/model"
python3 tests/data/models/make.py "$work/data/model"
seed=${SOAK_SEED:-$RANDOM}
"$kinds" kinds >"$work/kinds"
count=$(wc -l <"$work/kinds")
check "there are kinds of film ($count)" [ "$count" -ge 51 ]
if [ "${SOAK_ROUNDS:-1}" -lt 2000 ]; then
    echo "# SOAK_SEED=$seed"
    sed -i "$((seed % count + 1))!d" "$work/kinds"
fi
ff() { ffmpeg -nostdin -v error -y -bitexact "$@"; }
export -f ff
frames() { count_frames "$1" | head -n 1; } # ffprobe names a stream of a transport stream twice
run() { # FILM: its exit code is in $code
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: film}
spec:
  input: {video: {path: data/media/$1}}
  scorer: {onnx: {path: data/model/invert.onnx}}
  output: {path: data/out}
  miniBatchSize: 11
  workers: {min: 1, max: 2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
    discard "$work/data/out"
    timeout 300 "$build/windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
while IFS=$'\x1f' read -r name ending lost command; do
    (cd "$work/data/media" && OUT=$name bash -c "$command") </dev/null >"$work/made" 2>&1
    run "$name"
    film=$work/data/out/${name%.*}.$ending
    check "$name becomes ${film##*/} (code $code)" [ $code -eq 0 -a -s "$film" ]
    # ffprobe 5.1 dies of a track that it finds late.
    [ "$name" = t-grown.ts ] && wanted=220 || wanted=$(frames "$work/data/media/$name")
    check "$name: all frames" [ "$(frames "$film")" = "$wanted" ]
    check "$name: what it lacks: ${lost:-nothing}" [ "$(jq -r '[(.lost // [])[].what + ";"] | join("")' "$work/data/out/summary.json")" = "$lost" ]
    check "$name: the end says so" [ "$(grep -c '^  lost  ' "$work/log")" = "$(grep -o ';' <<<"$lost" | wc -l)" ]
done <"$work/kinds"
exit $((failures > 0))
