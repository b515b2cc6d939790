#!/usr/bin/env bash
# Random clips through `windlass run` while its processes are killed with -9 or stopped. Whatever
# happens, the job ends with every frame once, in order, at its time, with its sound, and leaves nothing behind.
#   SOAK_SEED (1) decides everything random except the machine's timing; CHAOS_ROUNDS (1, in a
#   soak SOAK_ROUNDS / 100) the number of clips. Of four fixed cases behind them `make test` draws two.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
rounds=${CHAOS_ROUNDS:-$((${SOAK_ROUNDS:-100} / 100))}
seed=${SOAK_SEED:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data" "$work/model"
python3 tests/data/models/make.py "$work/model"
pick() { local values=("$@"); picked=${values[RANDOM % $#]}; } # no subshell, so that RANDOM advances

# Pods of this test: all, or those with a given role's variable in their environment.
pods() {
    local file
    for file in $(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null); do
        if grep -qsF "${1:-WINDLASS_JOB=}" "$file"; then file=${file#/proc/}; echo "${file%/environ}"; fi
    done
}
# make_clip: makes a random clip; sets $clip, and its description $what.
make_clip() {
    local frames fps size sound vfr options=()
    pick 1 2 7 24 49 97; frames=$picked
    pick 10 25 30000/1001 60; fps=$picked
    pick 64x48 162x120 320x180; size=$picked
    pick yes yes no; sound=$picked
    pick no no yes; vfr=$picked
    clip=$work/data/clip.mp4
    [ "$sound" = yes ] && options+=(-f lavfi -i "sine=frequency=440:duration=$(python3 -c "print(max($frames / ($fps), 0.2))")" -c:a aac)
    # Every third frame is left out: times are no longer even.
    [ "$vfr" = yes ] && options+=(-vf "select=not(eq(mod(n\\,3)\\,1))" -fps_mode vfr)
    ffmpeg -v error -y -f lavfi -i "testsrc2=size=$size:rate=$fps,eq=saturation=0.3:contrast=0.6" "${options[@]}" -frames:v "$frames" -c:v libx264 -g 12 -pix_fmt yuv420p "$clip" </dev/null
    what="$frames frames of $size at $fps, sound $sound, uneven $vfr"
}
# One worker, or sometimes the coordinator, dies or is stopped for a moment.
hurt() {
    local victims victim
    if [ $((RANDOM % 6)) -eq 0 ] && [ "$coordinators" -lt 2 ]; then
        coordinators=$((coordinators + 1))
        mapfile -t victims < <(pods WINDLASS_BIND=)
    else
        mapfile -t victims < <(pods WINDLASS_COORDINATOR=)
    fi
    [ ${#victims[@]} -gt 0 ] || return
    pick "${victims[@]}"; victim=$picked
    if [ $((RANDOM % 3)) -gt 0 ]; then
        kill -9 "$victim" 2>/dev/null
    else
        kill -STOP "$victim" 2>/dev/null
        sleep 0.$((RANDOM % 9 + 1))
        kill -CONT "$victim" 2>/dev/null
    fi
}
same_times() { [ "$(times v:0 "$1" | sort -n)" = "$(times v:0 "$2" | sort -n)" ]; }
same_sound() { [ "$(packets a "$1")" = "$(packets a "$2")" ]; }
# Each frame is the inverse of its frame in the source, and of no other: these agree to 33 dB
# (colours are soft: saturated ones leave RGB when chroma is subsampled), neighbours only to 28.
same_pictures() {
    ffmpeg -v error -i "$1" -i "$2" -lavfi "[0:v]settb=1/1,setpts=N[a];[1:v]format=gbrp,negate,format=yuv420p,settb=1/1,setpts=N[b];[a][b]psnr=stats_file=$work/psnr" -f null - </dev/null || return 1
    awk '{ sub(/.*psnr_y:/, ""); if ($1 != "inf" && $1 < 30) bad++ } END { exit bad > 0 || NR == 0 }' "$work/psnr"
}
consistent() {
    python3 - "$work/data/out/summary.json" "$1" <<'P'
import json, sys
summary, frames = json.load(open(sys.argv[1])), int(sys.argv[2])
items, batches = summary["items"], summary["miniBatches"]
sys.exit(not (summary["state"] == "Succeeded" and items["total"] == items["done"] == frames and items["failed"] == 0
              and batches["done"] == batches["total"] and not summary["failed"]
              # The leader may have been replaced meanwhile: the commits record who did what.
              and sum(w["items"] for w in summary["workers"]) == frames
              and sum(w["miniBatches"] for w in summary["workers"]) == batches["total"]))
P
}

# only FOLDER NAME...: the output has these files, the summary and the memory of the run, and no files of tries.
only() {
    local folder=$1
    shift
    [ "$(ls -A "$folder" | sort)" = "$(printf '%s\n' .windlass failed.jsonl mini_batches.csv report.html result.json summary.json workers.csv "$@" | sort)" ] &&
        [ -z "$(find "$folder" -path '*/try/*' -o -path '*/join/*' -o -name '.windlass-tmp-*')" ]
}

round() {
    local network workers batch code out=$work/data/out/clip.mp4 fine=yes start=$SECONDS
    discard "$work/data/out" "$work/state"
    # Each round is independent of the draws of the last; hashed, as similar seeds draw similar numbers.
    RANDOM=$(($(cksum <<<"$seed $1" | cut -d" " -f1) % 32768))
    make_clip
    pick invert slow slow; network=$picked
    pick 1 2 3; workers=$picked
    pick 1 3 8 200; batch=$picked
    what="$what; $network, $workers workers, mini-batches of $batch"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: chaos}
spec:
  input: {video: {path: data/clip.mp4}}
  scorer: {onnx: {path: model/$network.onnx, preprocess: {height: 48}}}
  output: {path: data/out, mode: PerFile}
  miniBatchSize: $batch
M
    [ $network = slow ] || sed -i 's/, preprocess: {height: 48}//' "$work/job.yaml"
    cat >>"$work/job.yaml" <<M
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --workers "$workers" --state "$work/state" >"$work/log" 2>&1 </dev/null &
    local run=$! coordinators=0 wounds=$((RANDOM % 5 + 1)) i
    for ((i = 0; i < wounds; i++)); do
        sleep 0.$((RANDOM % 8 + 1))
        kill -0 $run 2>/dev/null && hurt
    done
    wait $run
    code=$?
    holds() { "$@" || { echo "# not so: $*"; fine=; }; }
    holds [ $code -eq 0 ]
    if [ $code -eq 0 ]; then
        holds [ "$(count_frames "$out")" = "$(count_frames "$clip")" ]
        holds same_times "$out" "$clip"
        holds same_sound "$out" "$clip"
        [ $network = slow ] || holds same_pictures "$out" "$clip"
        holds consistent "$(count_frames "$clip")"
        holds only "$work/data/out" clip.mp4
    fi
    holds [ -z "$(pods)" ]
    if [ -z "$fine" ]; then
        echo "# seed $seed, $what, $wounds wounds, $coordinators to coordinators; exit code $code"
        ls -A "$work/data/out" | sed 's/^/# left: /'
        tail -5 "$work/log" | sed 's/^/# /'
        tail -n 8 "$work"/state/*.log | sed 's/^/# /'
    fi
    check "round $1: $what, $wounds wounds ($((SECONDS - start)) s)" [ -n "$fine" ]
}
for ((number = 1; number <= rounds; number++)); do round $number; done

# ---- fixed cases -----------------------------------------------------------------------------------
manifest() { # input, output, network
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: chaos}
spec:
  input: $1
  scorer: {onnx: {path: model/$3.onnx}}
  output: {path: $2, mode: PerFile}
  miniBatchSize: 2
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
}
# launch NAME: starts a run in the background; its log is $work/NAME.log, its process $run.
launch() {
    timeout 300 "$windlass" run -f "$work/job.yaml" --workers 2 --keep --state "$work/state-$1" >"$work/$1.log" 2>&1 </dev/null &
    run=$!
}
await() { # seconds COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        nap 0.02
    done
}
windlass_of() { pgrep -P "$1" -x windlass; } # timeout's child
has() { compgen -G "$1"; }
no_pods() { [ -z "$(pods)" ]; }
ends_with() { wait "$1"; [ $? -eq "$2" ]; }
discard "$work"/data/*
film=$work/data/film.mp4
ffmpeg -v error -y -f lavfi -i testsrc2=size=320x180:rate=25:duration=3 -c:v libx264 -pix_fmt yuv420p "$film" </dev/null

# Two runs of one manifest would mix up their parts.
two_runs() {
    manifest '{video: {path: data/film.mp4}}' data/twice slow
    # The first run's pods write down their token, which cannot be read from outside.
    mkdir "$work/bin"
    cp "$windlass" "$work/bin/windlass"
    cat >"$work/bin/windlass-agent" <<A
#!/bin/sh
printf '%s\n' "\$WINDLASS_TOKEN" >"$work/token"
exec "${windlass%/*}/windlass-agent" "\$@"
A
    chmod +x "$work/bin/windlass-agent"
    windlass=$work/bin/windlass launch first
    first=$run
    check "a first run is under way" await 60 has "$work/data/twice/.windlass/*/try/*"
    launch second
    check "a second run of the same job fails" ends_with $run 1
    check "and says that another run writes there" grep -q 'spec.output.path: data/twice: another run of this job writes there' "$work/second.log"
    # No file that others may read has the token or the key.
    token=$(cat "$work/token")
    printf '%s\n' "$token" "PRIVATE KEY" >"$work/secrets" # in a file, as grep's own arguments are checked, too
    shown() {
        grep -rlF -f "$work/secrets" "$work"/state-* "$work"/*.log "$work/data"
        cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -aoF -f "$work/secrets"
        for pod in $(pods); do tr '\0' ' ' <"/proc/$pod/environ" 2>/dev/null | grep -aoF -f "$work/secrets"; done
    }
    check "the job has a token" [ ${#token} -ge 32 ]
    check "no argument, environment, log, status or folder shows it or the key" [ -z "$(shown)" ]
    kill -INT "$(windlass_of $first)"
    check "Ctrl-C ends the first" ends_with $first 130
    check "and nothing of it runs on" [ -z "$(pods)" ]
    launch again
    check "a run right after it succeeds" ends_with $run 0
    check "with all frames" [ "$(count_frames "$work/data/twice/film.mp4")" = 75 ]
    check "and leaves nothing else" only "$work/data/twice" film.mp4
}

# windlass dies with kill -9: its processes end with it; the next run removes their files.
killed_run() {
    mkdir -p "$work/data/photos"
    ffmpeg -v error -i "$film" -frames:v 60 "$work/data/photos/p%02d.png" </dev/null
    longest=$(printf 'n%.0s' {1..251}).png # 255 bytes
    cp "$work/data/photos/p01.png" "$work/data/photos/$longest"
    manifest '{files: {path: data/photos}}' data/painted slow
    launch killed
    killed=$run
    check "pictures are under way" await 60 has "$work/data/painted/p03.png"
    kill -9 "$(windlass_of $killed)"
    wait $killed 2>/dev/null
    check "kill -9 of windlass leaves no process" await 60 no_pods
    launch next
    check "the next run succeeds, a name of 255 bytes among its inputs" ends_with $run 0
    # shellcheck disable=SC2046 # plain names
    check "every picture is there and nothing else" only "$work/data/painted" outputs.jsonl $(ls "$work/data/photos")
}

# Ctrl-C in the middle.
halted_run() {
    mkdir "$work/data/large"
    ffmpeg -v error -i "$film" -vf scale=640:360,tpad=stop=75:stop_mode=clone "$work/data/large/p%03d.png" </dev/null
    manifest '{files: {path: data/large}}' data/halted slow
    launch halted
    check "pictures are under way again" await 60 has "$work/data/halted/p003.png"
    sleep 1.2 # until the status counts some
    kill -INT "$(windlass_of $run)"
    check "Ctrl-C ends them" ends_with $run 130
    check "and says where the finished results are" grep -qE 'kept: what was finished, under .*/halted$' "$work/halted.log"
}

# The input disappears when only the join remains.
lost_film() {
    manifest '{video: {path: data/film.mp4}}' data/lost slow
    launch lost
    check "a film is under way" await 60 has "$work/data/lost/.windlass/*/try/*"
    rm "$film"
    check "a film that is removed meanwhile fails the job" ends_with $run 1
    check "in a line that names the input, not the output" grep -q 'failed: spec.input.video.path: data/film.mp4' "$work/lost.log"
}

draw "cases" 2 two_runs killed_run halted_run lost_film
for each in two_runs killed_run halted_run lost_film; do ! is_drawn $each || $each; done # (in this order: the film goes)
exit $((failures > 0))
