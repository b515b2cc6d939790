#!/usr/bin/env bash
# The whole demo against the engine alone, the idle time of its workers, and the agent's memory on 1080p video.
# Prints two tables, writes build/bench/pipeline.json. BENCH_FRAMES (default: all) shortens the demo's clip.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench/work
work=$PWD/build/bench/work
cores=$(nproc)
example=examples/style-transfer
model=$example/data/model/starry.onnx
$example/fetch.sh
agent=build/windlass-agent

# The engine alone, as the workers run it: one process per core, one thread each, at the same time. Prints frames a
# second of all processes together, and processor milliseconds per frame.
engine() {
    for i in $(seq "$cores"); do
        $agent model bench $model --shape image=1x3x720x1280 --threads 1 --runs 25 >"$work/engine.$i" &
    done
    wait
    awk '/^median/ { fps += 1000 / $2 } /^processor/ { ms += $2; n++ } END { print fps, ms / n }' "$work"/engine.*
}
read -r fps_before ms_before < <(engine)

rm -rf "$work/data" "$work/state"
mkdir -p "$work/data"
cp -r $example/data/model $example/data/media "$work/data/"
if [ -n "${BENCH_FRAMES:-}" ]; then
    ffmpeg -v error -y -i $example/data/media/cockatoo.mp4 -c copy -frames:v "$BENCH_FRAMES" "$work/data/media/cockatoo.mp4"
fi
start=$(date +%s.%N)
TIMEFORMAT='%U %S'
{ time build/windlass run -f $example/batchscore.yaml --volume data="$work/data" --state "$work/state" \
    >"$work/run.log" 2>&1; } 2>"$work/times" || { tail -20 "$work/run.log"; exit 1; }
end=$(date +%s.%N)
# Measured again, to see whether the machine became slower or faster meanwhile; the mean of both counts.
read -r fps_after ms_after < <(engine)
frames=$(jq .items.done "$work/data/painted/summary.json")
number() { awk "BEGIN { printf \"%.3f\", $1 }"; }
engine_fps=$(number "($fps_before + $fps_after) / 2")
engine_ms=$(number "($ms_before + $ms_after) / 2")
demo_fps=$(number "$frames / ($end - $start)")
demo_ms=$(number "1000 * ($(tr ' ' + <"$work/times")) / $frames")
ratio=$(number "$demo_fps / $engine_fps")
ratio_processor=$(number "$engine_ms / $demo_ms")
# The idle share of the workers' time from first lease to last result (docs/report.md); goal: under 0.03.
idle=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { busy += $at["busySeconds"]; idle += $at["idleSeconds"] } END { printf "%.4f", idle / (busy + idle) }' "$work/data/painted/workers.csv")
echo
printf '%-44s %10s %10s %8s\n' "style transfer 1280x720, $frames frames, $cores cores" demo engine ratio
printf '%-44s %10.2f %10.2f %8s\n' "frames a second" "$demo_fps" "$engine_fps" "$ratio"
printf '%-44s %10.1f %10.1f %8s\n' "processor ms of a frame" "$demo_ms" "$engine_ms" "$ratio_processor"
printf '%-44s %10s\n' "idle share of the workers" "$idle"
echo "(engine before and after: $fps_before and $fps_after frames a second)"

# Memory: the largest agent process in a run on a 1080p clip, a short one and one four times as long.
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
    --argjson ratio "$ratio" --argjson idle "$idle" --argjson processor "$ratio_processor" --argjson short "$short" --argjson long "$long" \
    '{command: "make bench", date: $date, cpu: $cpu, cores: $cores, frames: $frames, demo_fps: $demo, engine_fps: $engine,
      ratio: $ratio, ratio_processor: $processor, idle_share: $idle, peak_mib_1080p: {frames_24: $short, frames_96: $long}}' >build/bench/pipeline.json
rm -rf "$work"
