# shellcheck shell=bash disable=SC2034 # what is set here is used there
# once.sh: jobs of many mini-batches through `windlass run`, whose workers, coordinator and windlass itself are killed
# with -9, and the checks of their outputs. For test_exactly_once*.sh, which source it after lib.sh with
#   $seed decides which process dies when; $batches of a job; $in and $out, the spec paths of inputs and output;
#   $stores, a line of the spec; and the functions reset_output; collect_output, which copies $out to $work/out; and optionally
#   may_hurt, which fails as long as nothing may be killed.
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
mkdir -p "$work/data/photos" "$work/model" "$work/code"
cp tests/e2e/score/hostile.py "$work/code/"
python3 tests/data/models/make.py "$work/model"

# Pictures that all differ, one a mini-batch; and as many frames, two a mini-batch.
make_inputs() {
    python3 - "$work/data/photos" "$batches" <<'P'
import struct, sys, zlib
folder, count = sys.argv[1], int(sys.argv[2])
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(count):
    rows = b"".join(b"\0" + bytes((i * 7 + y * 31 + x * 13 + c * (i >> 8)) & 255 for x in range(8) for c in range(3)) for y in range(8))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    open(f"{folder}/{i:05d}.png", "wb").write(png)
P
    ffmpeg -v error -f lavfi -i "testsrc2=size=32x32:rate=50" -frames:v $((batches * 2)) -c:v libx264 -preset ultrafast -g 50 -pix_fmt yuv420p "$work/data/film.mp4" </dev/null || exit 3
}

# The default rule for a round, counted from 1.
declare -F kind_of >/dev/null || kind_of() { echo $((($1 + 1) % 3)); }
# Pictures and a film through a network, each result a file; pictures through a program, in one file of rows: a quick
# one, and (kind 3) one that takes 0.7 s, so that what a dead coordinator leased is still under way when the next begins.
inputs=("{files: {path: $in/photos}}" "{video: {path: $in/film.mp4}}" "{files: {path: $in/photos}}" "{files: {path: $in/photos}}")
sizes=(1 2 1 1) # of a mini-batch
seconds=(0 0 0 0.7)
timeouts=(60 60 2 6)
onnx='{onnx: {path: model/invert.onnx}}'
manifest() { # kind, behaviour of its program
    local scorer=$onnx mode=PerFile
    if [ "$1" -ge 2 ]; then
        mode=AppendRow
        scorer="{command: {command: [python3, \$(code)/hostile.py, $2, '${seconds[$1]}'], processesPerWorker: 4}}"
    fi
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: once}
spec:
  input: ${inputs[$1]}
  scorer: $scorer
  output: {path: $out, mode: $mode}
  miniBatchSize: ${sizes[$1]}
  retry: {maxTries: 6, timeoutSeconds: ${timeouts[$1]}}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
    - {name: code, persistentVolumeClaim: {claimName: code}}
  ${stores:-}
M
}
# The time proves nothing: in a soak other tests use the machine, too.
launch() { timeout $([ -z "${SOAK_ROUNDS:-}" ] && echo 300 || echo 1800) "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null & run=$!; }
# Pods of this test with a given role's variable in their environment.
pods() {
    local file
    for file in $(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null); do
        if grep -qsF "$1" "$file"; then file=${file#/proc/}; echo "${file%/environ}"; fi
    done
}
# Every file of the output, with its bytes, except the memory of the run and files that depend on time and workers.
told=(! -name failed.jsonl ! -name summary.json ! -name report.html ! -name mini_batches.csv ! -name workers.csv
    ! -name result.json ! -name outputs.jsonl)
output() { (cd "$work/out" && find . -type f ! -path './.windlass/*' "${told[@]}" -exec sha256sum {} + | sort -k 2); }
# Each cell counts once, and the records add up: checks the commits with an independent reader.
commits_add_up() {
    python3 - "$work/out/.windlass" "$1" "$2" <<'P'
import glob, json, sys
folder, cells, items = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = sorted(glob.glob(folder + "/*/commit/*"))
if [int(n[-12:]) for n in names] != list(range(len(names))):
    sys.exit("numbers with gaps")
done, epoch, ended = {}, -1, False
for name in names:
    head, *records, end = [json.loads(line) for line in open(name)]
    if head["epoch"] == head["number"]:
        epoch = head["epoch"]
    if head["epoch"] != epoch or "void" in head:
        sys.exit(f"{name}: of a coordinator that had not claimed the run")
    for record in records:
        if record[0] == "d":
            for cell in range(record[1], record[1] + record[2]):
                if cell in done:
                    sys.exit(f"{name}: cell {cell} for the second time")
                done[cell] = record[3]
        ended = ended or record[0] == "e"
if sorted(done) != list(range(cells)) or sum(done.values()) != items or not ended:
    sys.exit(f"{len(done)} of {cells} cells, {sum(done.values())} items")
P
}
nothing_left() { [ -z "$(find "$work/out/" -path '*/try/*' -o -path '*/join/*' -o -name '.windlass-tmp-*')" ]; }

quiet_run() { # kind
    rm -rf "$work/state"
    reset_output
    manifest "$1" plain
    local start code
    start=$(date +%s%N)
    launch
    wait $run
    code=$?
    check "a quiet run of $batches mini-batches ($((($(date +%s%N) - start) / 1000000)) ms)" [ $code -eq 0 ]
    [ $code -eq 0 ] || tail -n 12 "$work/log" "$work"/state/*.log | sed 's/^/# /'
    collect_output
    output >"$work/quiet.$1"
    check "its commits count each once" commits_add_up "$batches" $((batches * sizes[$1]))
    check "nothing of a try is left" nothing_left
}

##### with deaths
hurt() {
    local victims=() draw=$((RANDOM % 10))
    if [ $draw -lt 3 ] && [ $coordinators -lt 4 ]; then
        mapfile -t victims < <(pods WINDLASS_BIND=)
        [ ${#victims[@]} -eq 0 ] || coordinators=$((coordinators + 1))
    elif [ $draw -eq 3 ] && [ $controllers -lt 2 ]; then
        mapfile -t victims < <(pgrep -P $run -x windlass)
        [ ${#victims[@]} -eq 0 ] || controllers=$((controllers + 1))
    elif [ $workers -lt 8 ]; then
        mapfile -t victims < <(pods WINDLASS_COORDINATOR=)
        [ ${#victims[@]} -eq 0 ] || workers=$((workers + 1))
    fi
    [ ${#victims[@]} -eq 0 ] || { kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null && killed=$((killed + 1)); }
}
killed=0
round() { # number, from 1 on; kills processes; the script decides what happens to the storage
    local kind code=1 coordinators=0 controllers=0 workers=0 wrong= start=$SECONDS seen=0
    kind=$(kind_of "$1")
    # Each round is independent of the draws of the last; hashed, as similar seeds draw similar numbers.
    RANDOM=$(($(cksum <<<"$seed $1" | cut -d" " -f1) % 32768))
    rm -rf "$work/state"
    reset_output
    manifest $kind mixed
    exec 3>&2 2>/dev/null # bash reports killed processes, too
    launch
    while :; do
        sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
        if kill -0 $run 2>/dev/null; then
            if ! declare -F may_hurt >/dev/null || may_hurt; then hurt; fi
            continue
        fi
        seen=$controllers
        { wait $run; } 2>/dev/null
        code=$?
        # Killed together with its windlass, it is started again: only we cause 137.
        if [ $code -eq 137 ] && [ "$seen" -gt "${again:-0}" ]; then again=$seen; launch; continue; fi
        break
    done
    again=0
    exec 2>&3 3>&-
    holds() { "$@" || wrong+="; not so: $*"; }
    collect_output
    holds [ $code -eq 0 ]
    holds diff -q <(output) "$work/quiet.$kind"
    holds commits_add_up "$batches" $((batches * sizes[kind]))
    holds nothing_left
    holds [ "$(jq -r .items.done "$work/out/summary.json")" = $((batches * sizes[kind])) ]
    holds [ -z "$(pods WINDLASS_JOB=)" ]
    if [ -n "$wrong" ]; then # the most useful part comes last: a log is cut at its beginning
        tail -n 6 "$work"/state/*worker*.log | sed 's/^/# /'
        tail -n 12 "$work"/state/*coordinator*.log | sed 's/^/# /'
        tail -5 "$work/log" | sed 's/^/# /'
        echo "# seed $seed, round $1, exit code $code$wrong"
    fi
    check "round $1, kind $kind: byte for byte, after the deaths of $workers workers, $coordinators coordinators, $controllers controllers ($((SECONDS - start)) s)" [ -z "$wrong" ]
}
