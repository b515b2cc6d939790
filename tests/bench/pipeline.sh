#!/usr/bin/env bash
# The whole demo beside the engine alone, and the agent's memory on 1080p video.
# Prints two tables, writes build/bench/pipeline.json. BENCH_FRAMES (all): shorten the demo's clip.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench/work
work=$PWD/build/bench/work
cores=$(nproc)
example=examples/style-transfer
model=$example/data/model/starry.onnx
$example/fetch.sh
agent=build/windlass-agent

median_ms() { grep -oE 'median [0-9.]+ ms' | grep -oE '[0-9.]+'; }
# Engine alone: one process with all threads, and one process a core with one thread each (as workers run).
together=$($agent model bench $model --shape image=1x3x720x1280 --threads "$cores" --runs 7 | median_ms)
for i in $(seq "$cores"); do
    $agent model bench $model --shape image=1x3x720x1280 --threads 1 --runs 7 >"$work/engine.$i" &
done
wait
engine_fps=$({ echo "$together" | awk '{ print 1000 / $1 }'
    for i in $(seq "$cores"); do median_ms <"$work/engine.$i"; done | awk '{ s += 1000 / $1 } END { print s }'
} | sort -g | tail -1)

rm -rf "$work/data" "$work/state"
mkdir -p "$work/data"
cp -r $example/data/model $example/data/media "$work/data/"
if [ -n "${BENCH_FRAMES:-}" ]; then
    ffmpeg -v error -y -i $example/data/media/cockatoo.mp4 -c copy -frames:v "$BENCH_FRAMES" "$work/data/media/cockatoo.mp4"
fi
start=$(date +%s.%N)
build/windlass run -f $example/batchscore.yaml --volume data="$work/data" --state "$work/state" >"$work/run.log" || { tail -20 "$work/run.log"; exit 1; }
end=$(date +%s.%N)
frames=$(jq .items.done "$work/data/painted/summary.json")
demo_fps=$(awk "BEGIN { print $frames / ($end - $start) }")
ratio=$(awk "BEGIN { printf \"%.3f\", $demo_fps / $engine_fps }")
echo
printf '%-44s %10s %10s %8s\n' "work" "demo fps" "engine fps" "ratio"
printf '%-44s %10.2f %10.2f %8s\n' "style transfer 1280x720, $frames frames, $cores cores" "$demo_fps" "$engine_fps" "$ratio"

# Memory: the largest agent process over a run on a 1080p clip, short and four times as long.
peak_mib() { # seconds of video
    mkdir -p "$work/big/media" && rm -rf "$work/big/painted" "$work/big/state"
    cp -r $example/data/model "$work/big/"
    ffmpeg -v error -y -f lavfi -i "testsrc2=size=1920x1080:rate=8:duration=$1" -c:v libx264 -preset ultrafast "$work/big/media/cockatoo.mp4"
    build/windlass run -f $example/batchscore.yaml --volume data="$work/big" --state "$work/big/state" >"$work/big.log" 2>&1 &
    local run=$! peak=0 now
    while kill -0 $run 2>/dev/null; do
        now=$(for p in $(pgrep -f windlass-agent); do awk '/VmHWM/ { print $2 }' "/proc/$p/status" 2>/dev/null; done | sort -n | tail -1)
        [ "${now:-0}" -le "$peak" ] || peak=$now
        sleep 0.1
    done
    wait $run || { tail -20 "$work/big.log" >&2; return 1; }
    echo $((peak / 1024))
}
short=$(peak_mib 3)
long=$(peak_mib 12)
echo
printf '%-44s %10s\n' "1080p through the style network" "peak MiB"
printf '%-44s %10s\n' "24 frames" "$short" "96 frames" "$long"
jq -n --arg date "$(date -u +%F)" --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" \
    --argjson cores "$cores" --argjson frames "$frames" --argjson demo "$demo_fps" --argjson engine "$engine_fps" \
    --argjson ratio "$ratio" --argjson short "$short" --argjson long "$long" \
    '{command: "make bench", date: $date, cpu: $cpu, cores: $cores, frames: $frames, demo_fps: $demo, engine_fps: $engine,
      ratio: $ratio, peak_mib_1080p: {frames_24: $short, frames_96: $long}}' >build/bench/pipeline.json
rm -rf "$work"
