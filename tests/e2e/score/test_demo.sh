#!/usr/bin/env bash
# The demo as a user runs it, on the first 12 frames of its real video: `windlass run` of the example's
# manifest with two workers, the result checked with ffprobe and by its pixels.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
example=examples/style-transfer
$example/fetch.sh || exit 3
mkdir -p "$work/data/media"
cp -r $example/data/model "$work/data/"
ffmpeg -v error -i $example/data/media/cockatoo.mp4 -t 0.6 -c copy -frames:v 12 "$work/data/media/cockatoo.mp4" || exit 3
frames=$(count_frames "$work/data/media/cockatoo.mp4")

"$windlass" run -f $example/batchscore.yaml --volume data="$work/data" --workers 2 --state "$work/state" >"$work/out" 2>&1
check "the demo succeeds" [ $? -eq 0 ]
painted=$work/data/painted/cockatoo.mp4
check "every frame is in the painting ($frames)" [ "$(count_frames "$painted")" = "$frames" ]
check "it is H.264, 1280x720, yuv420p" \
    [ "$(probe v:0 codec_name,width,height,pix_fmt "$painted")" = "h264,1280,720,yuv420p" ]
check "the sound is the same packets" \
    [ "$(packets a:0 "$work/data/media/cockatoo.mp4")" = "$(packets a:0 "$painted")" ]
check "the time stamps are the same" \
    [ "$(times v:0 "$work/data/media/cockatoo.mp4")" = "$(times v:0 "$painted")" ]
rate=$(probe v:0 bit_rate "$painted")
check "the film is no larger than it looks ($rate bit/s)" [ "$rate" -gt 0 -a "$rate" -lt 4500000 ]
check "the index comes before the data (plays while it loads)" faststart "$painted"
check "the summary counts the frames" [ "$(jq -r .items.done "$work/data/painted/summary.json")" = "$frames" ]
check "nothing is left of the parts" [ -z "$(find "$work/data/painted" -path '*/try/*' -o -path '*/join/*' -o -name '.windlass-tmp-*')" ]
check "the last lines name the video" grep -q "painted/cockatoo.mp4" "$work/out"
check "the last lines name the summary" grep -q "summary.json" "$work/out"
check "the last lines name the logs" grep -q "$work/state" "$work/out"
check "the last lines say how fast" grep -qE "[0-9.]+ (frames|items)/s" "$work/out"
check "the last lines say the kubectl line" grep -q "kubectl apply -f" "$work/out"
# A painting differs from the photograph, but not beyond recognition.
psnr=$(ffmpeg -v info -i "$work/data/media/cockatoo.mp4" -i "$painted" -lavfi '[0:v][1:v]psnr' -f null - 2>&1 |
    grep -oE 'average:[0-9.]+' | cut -d: -f2)
check "it is painted, not copied and not noise (PSNR $psnr dB)" awk "BEGIN { exit !($psnr > 7 && $psnr < 25) }"
[ $failures -eq 0 ] || sed 's/^/# /' "$work/out"
exit $((failures > 0))
