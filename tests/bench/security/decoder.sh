#!/usr/bin/env bash
# What it costs the demo that films are listed, decoded and made in a separate process (docs/operate/decoding.md): the style
# transfer with and without it (WINDLASS_SANDBOX=off), in pairs that change sides; processor time of all processes from
# start to end of the job, for each frame. The demo's network takes so long that its runs may differ among themselves by
# more than what is looked for; so the same film goes through a network that only inverts it, too, and the difference there
# is given as a share of the demo's time. Goal: at most 3 % of the demo's speed.
#   ROUNDS=3: pairs of runs of the demo, twice as many of the other; FRAMES=280: of the demo's film
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
python3 tests/data/models/make.py "$work/data/model"
ffmpeg -v error -i $example/data/media/cockatoo.mp4 -c copy -frames:v "$FRAMES" "$work/data/media/cockatoo.mp4"
sed 's/starry\.onnx/invert.onnx/' $example/batchscore.yaml >"$work/small.yaml"
cp $example/batchscore.yaml "$work/demo.yaml"
# run JOB NAME SANDBOX: adds the processor milliseconds of a frame to $work/JOB.NAME
run() {
    local TIMEFORMAT='%U %S' done
    rm -rf "$work/data/painted" "$work/state"
    { time WINDLASS_SANDBOX=$3 build/windlass run -f "$work/$1.yaml" --volume data="$work/data" --state "$work/state" \
        >"$work/log" 2>&1; } 2>"$work/times" || { tail -20 "$work/log"; exit 1; }
    done=$(jq .items.done "$work/data/painted/summary.json")
    awk -v n="$done" '{ printf "%.2f\n", 1000 * ($1 + $2) / n }' "$work/times" >>"$work/$1.$2"
    echo "$1, $2: $(tail -1 "$work/$1.$2") ms"
}
pairs() { # JOB COUNT
    local round
    for round in $(seq "$2"); do
        if [ $((round % 2)) = 1 ]; then
            run "$1" apart auto
            run "$1" within off
        else
            run "$1" within off
            run "$1" apart auto
        fi
    done
}
pairs small $((2 * ROUNDS))
pairs demo "$ROUNDS"
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.2f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
differences() { paste "$work/$1.apart" "$work/$1.within" | awk '{ printf "%.2f\n", $1 - $2 }'; }
apart=$(median <"$work/demo.apart") within=$(median <"$work/demo.within") more=$(differences small | median)
ratio=$(awk "BEGIN { printf \"%.3f\", $within / $apart }")
share=$(awk "BEGIN { printf \"%.2f\", 100 * $more / $within }")
row() { printf '%-52s %16s %16s %8s\n' "$@"; }
row "$FRAMES frames of 1280x720, processor ms of each" "separate process" "in the worker" ratio
row "the demo, median of $ROUNDS" "$apart" "$within" "$ratio"
row "all" "$(xargs <"$work/demo.apart")" "$(xargs <"$work/demo.within")" ""
row "a network that inverts, median of $((2 * ROUNDS))" "$(median <"$work/small.apart")" "$(median <"$work/small.within")" ""
row "its difference, median of the pairs, ms" "$more" "" ""
row "that difference, % of the demo's time" "$share" "" ""
jq -n --argjson apart "$apart" --argjson within "$within" --argjson more "$more" --argjson share "$share" \
    '{command: "bash tests/bench/security/decoder.sh", apart_ms: $apart, within_ms: $within, more_ms: $more, more_percent: $share}' >build/bench/decoder.json
