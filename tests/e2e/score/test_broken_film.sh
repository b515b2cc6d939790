#!/usr/bin/env bash
# A film of which a stretch is broken: its frames fail by number; with a threshold the film is made, as
# long as before and with its sound; without one the job fails. Subtitles become MP4's; what it does not take is named.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/media" "$work/data/model"
python3 tests/data/models/make.py "$work/data/model"
ff() { ffmpeg -nostdin -v error -y "$@" || exit 3; }
printf '1\n00:00:00,500 --> 00:00:01,500\none\n' >"$work/words.srt"
ff -f lavfi -i testsrc2=s=160x120:r=25:d=6 -f lavfi -i sine=440:d=6 -i "$work/words.srt" -map 0 -map 1 -map 2 \
    -c:v libx264 -g 15 -bf 0 -c:a aac -c:s srt -attach "$work/words.srt" -metadata:s:t mimetype=text/plain "$work/text.mkv"
ff -i "$work/text.mkv" -map 0:v -map 0:a -c copy "$work/whole.mp4"
cp "$work/text.mkv" "$work/data/media/text.mkv"
python3 - "$work/whole.mp4" "$work/data/media/broken.mp4" <<'P'
import random, sys
random.seed(7)
data = bytearray(open(sys.argv[1], 'rb').read())
start = len(data) * 4 // 10
for _ in range(300):
    data[random.randrange(start, start + len(data) // 10)] = random.randrange(256)
open(sys.argv[2], 'wb').write(data)
P

run() { # film, errorThreshold
    discard "$work/data/out"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: media}
spec:
  input: {video: {path: data/media/$1}}
  scorer: {onnx: {path: data/model/invert.onnx}}
  output: {path: data/out}
  miniBatchSize: 8
  errorThreshold: $2
  retry: {maxTries: 3}
  workers: {min: 1, max: 2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --volume data="$work/data" --state "$work/state" >"$work/log" 2>&1
}
field() { jq -r "$1" "$work/data/out/summary.json"; }
seconds() { ffprobe -v error -select_streams "$1" -show_entries stream=duration -of csv=p=0 "$2" | cut -c1-4; }

check "a film with a broken stretch is scored" run broken.mp4 -1
failed=$(field .items.failed)
check "some frames have failed ($failed of 150), most have not" [ "${failed:-0}" -gt 0 -a "${failed:-0}" -lt 75 ]
check "none of them was tried again" [ "$(field .items.retried)" = 0 ]
check "each is named" [ "$(grep -c 'cannot be decoded whole' "$work/data/out/failed.jsonl")" = "$failed" ]
long=$(seconds v:0 "$work/data/out/broken.mp4") # whole.mp4 has times of whole milliseconds
check "the pictures are as long as before ($long s)" awk "BEGIN { exit !($long > 5.9 && $long < 6.1) }"
check "and so is the sound" [ "$(seconds a:0 "$work/data/out/broken.mp4")" = "$(seconds a:0 "$work/whole.mp4")" ]
check "without a threshold the job fails" [ "$(run broken.mp4 0; echo $?)" = 1 ]
check "a film with subtitles is scored" run text.mkv 0
check "none of its frames has failed" [ "$(field .items.failed)" = 0 ]
words() { ffmpeg -nostdin -v error -i "$work/data/$1" -map 0:s:0 -f srt -; }
check "its subtitles are MP4's now, with their words and times" [ "$(words out/text.mp4)" = "$(words media/text.mkv)" ]
check "of which there are some" grep -qx one <(words out/text.mp4)
check "what MP4 does not take is named in the summary" [ "$(field '[.lost[].what] | join(" ")')" = "attachment 1 (none)" ]
check "and at the end of the run" grep -q 'lost .*attachment 1 (none): left out: only sound, subtitles and chapters' "$work/log"
exit $((failures > 0))
