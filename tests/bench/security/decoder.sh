#!/usr/bin/env bash
# What it costs the demo that films are listed, decoded and made in a separate process (docs/operate/decoding.md): the style transfer
# with and without it (WINDLASS_SANDBOX=off), in turns that change sides; processor time of all processes from start to end
# of the job, for each frame. Goal: at most 3 % of the demo's speed.
#   ROUNDS=3: pairs of runs; FRAMES=280: of the demo's film
# Prints a table, writes build/bench/decoder.json.
set -eu
cd "$(dirname "$0")/../../.."
: "${ROUNDS:=3}" "${FRAMES:=280}"
make --no-print-directory build/windlass build/windlass-agent
example=examples/style-transfer
$example/fetch.sh
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/media"
cp -r $example/data/model "$work/data/"
ffmpeg -v error -i $example/data/media/cockatoo.mp4 -c copy -frames:v "$FRAMES" "$work/data/media/cockatoo.mp4"
# run NAME SANDBOX: adds the processor milliseconds of a frame to $work/NAME
run() {
    local TIMEFORMAT='%U %S' done
    rm -rf "$work/data/painted" "$work/state"
    { time WINDLASS_SANDBOX=$2 build/windlass run -f $example/batchscore.yaml --volume data="$work/data" --state "$work/state" \
        >"$work/log" 2>&1; } 2>"$work/times" || { tail -20 "$work/log"; exit 1; }
    done=$(jq .items.done "$work/data/painted/summary.json")
    awk -v n="$done" '{ printf "%.2f\n", 1000 * ($1 + $2) / n }' "$work/times" >>"$work/$1"
    echo "$1: $(tail -1 "$work/$1") ms"
}
for round in $(seq "$ROUNDS"); do
    if [ $((round % 2)) = 1 ]; then
        run apart auto
        run within off
    else
        run within off
        run apart auto
    fi
done
median() { sort -n "$1" | sed -n "$(((ROUNDS + 1) / 2))p"; }
apart=$(median "$work/apart") within=$(median "$work/within")
ratio=$(awk "BEGIN { printf \"%.3f\", $within / $apart }")
row() { printf '%-44s %16s %16s %8s\n' "$@"; }
row "$FRAMES frames of 1280x720" "separate process" "in the worker" ratio
row "processor ms of a frame, median of $ROUNDS" "$apart" "$within" "$ratio"
row "all" "$(xargs <"$work/apart")" "$(xargs <"$work/within")" ""
jq -n --argjson apart "$apart" --argjson within "$within" '{command: "bash tests/bench/security/decoder.sh", apart_ms: $apart, within_ms: $within}' >build/bench/decoder.json
