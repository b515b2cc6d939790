#!/usr/bin/env bash
# Videos of which other systems lost frames, through `windlass run`: uneven splits, one frame, odd sizes,
# variable frame rate, without sound, MPEG-2. Every frame comes out, at its time, with its sound.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/media" "$work/data/model"
python3 tests/data/models/make.py "$work/data/model"
m=$work/data/media
tone='-f lavfi -i sine=frequency=440:duration=3'
ff() { ffmpeg -v error -y "$@" || exit 3; }
ff -f lavfi -i testsrc2=size=160x120:rate=25:duration=2.04 $tone -shortest -c:v libx264 -g 12 -bf 3 -c:a aac "$m/uneven.mp4"
ff -f lavfi -i testsrc2=size=160x120:rate=25:duration=0.04 -frames:v 1 -c:v libx264 "$m/one.mp4"
ff -f lavfi -i testsrc2=size=160x120:rate=10:duration=2 -vf scale=161:121 -c:v libx264 -pix_fmt yuv444p "$m/odd.mp4"
ff -f lavfi -i testsrc2=size=160x120:rate=30:duration=2 -vf "select='not(mod(n,3))+lt(n,20)'" -vsync vfr -c:v libx264 "$m/vfr.mp4"
ff -f lavfi -i testsrc2=size=160x120:rate=25:duration=2 $tone -shortest -c:v mpeg2video -bf 2 -c:a mp2 "$m/program.mpg"
ff -f lavfi -i testsrc2=size=160x120:rate=24:duration=2 $tone -shortest -c:v libvpx -c:a libopus "$m/web.webm"

run() { # clip, mini-batch size
    discard "$work/data/out"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: media}
spec:
  input: {video: {path: data/media/$1}}
  scorer: {onnx: {path: data/model/invert.onnx}}
  output: {path: data/out}
  miniBatchSize: $2
  workers: {min: 1, max: 2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --volume data="$work/data" --state "$work/state" >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; return 1; }
}
for row in uneven.mp4:7 uneven.mp4:auto one.mp4:8 odd.mp4:3 vfr.mp4:4 program.mpg:6 web.webm:5; do
    clip=${row%:*} size=${row#*:}
    check "$clip in mini-batches of $size" run "$clip" "$size"
    out=$work/data/out/${clip%.*}.mp4
    wanted=$(count_frames "$m/$clip")
    check "$clip: all $wanted frames" [ "$(count_frames "$out")" = "$wanted" ]
    # Times to the millisecond, from the first frame on: containers start their clocks differently.
    relative() { times v:0 "$1" | awk 'NR == 1 { s = $1 } { printf "%.2f ", $1 - s }'; }
    check "$clip: at the same times" [ "$(relative "$m/$clip")" = "$(relative "$out")" ]
    if [ -n "$(probe a:0 codec_name "$m/$clip")" ]; then
        check "$clip: the sound is the same packets" [ "$(packets a:0 "$m/$clip")" = "$(packets a:0 "$out")" ]
    fi
done
# A film that was cut since is not called done.
again() { timeout 300 "$windlass" run -f "$work/job.yaml" --volume data="$work/data" --state "$work/state" "$@" >"$work/log" 2>&1 </dev/null; code=$?; }
run one.mp4 8
again
check "run again, nothing is to do" eval '[ $code -eq 0 ] && grep -q "nothing to do" "$work/log"'
truncate -s -1 "$work/data/out/one.mp4"
again
check "a film that was cut since is refused (code $code)" [ $code -eq 2 ]
check "in words" grep -q 'spec.output.path: data/out/one.mp4 is not as the last run wrote it: rerun with --restart' "$work/log"
again --restart
check "and made anew by --restart (code $code)" eval '[ $code -eq 0 ] && "$windlass" verify "$work/data/out" >"$work/said"'
check "odd sizes become even by one repeated row and column" \
    [ "$(run odd.mp4 5 >/dev/null; probe v:0 width,height,pix_fmt "$work/data/out/odd.mp4")" = "162,122,yuv420p" ]
# The pixels: inverted, so that the picture negated again is the input, up to the codec's loss (soft
# colours: saturated ones leave RGB's range when chroma is subsampled).
ff -f lavfi -i gradients=size=160x120:rate=25:duration=2.04:speed=0.05:c0=0x705040:c1=0x90a0b0:nb_colors=2 -c:v libx264 -crf 12 -g 12 -bf 3 "$m/soft.mp4"
run soft.mp4 7
psnr=$(ffmpeg -v info -i "$m/soft.mp4" -i "$work/data/out/soft.mp4" -lavfi '[0:v]negate[a];[a][1:v]psnr' -f null - 2>&1 | grep -oE 'min:[0-9.]+' | cut -d: -f2)
check "each frame is its own input inverted (worst PSNR $psnr dB)" awk "BEGIN { exit !(${psnr:-0} > 32) }"
# A real film whose parameter sets come with its first packet only (its container has others): every
# lease that starts at a later keyframe must be right, frame by frame.
examples/style-transfer/fetch.sh && cp examples/style-transfer/data/media/cockatoo.mp4 "$m/real.mp4"
run real.mp4 8
psnr=$(ffmpeg -v info -i "$m/real.mp4" -i "$work/data/out/real.mp4" -lavfi '[0:v]negate[a];[a][1:v]psnr' -f null - 2>&1 | grep -oE 'min:[0-9.]+' | cut -d: -f2)
check "a real film in leases of 8: each frame its own input (worst PSNR $psnr dB)" awk "BEGIN { exit !(${psnr:-0} > 30) }"
exit $((failures > 0))
