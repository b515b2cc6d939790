#!/usr/bin/env bash
# Two and three coordinators of one job at once, each with workers, frozen (SIGSTOP) and thawed at random
# moments, like nodes that are lost and return. Whichever continues, the film is that of an undisturbed run, byte for
# byte, each mini-batch counts once, and only the coordinator that made the output reports an end.
#   SOAK_SEED (1); TWO_ROUNDS (3, in a soak SOAK_ROUNDS / 20).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
agent=$(realpath "${BUILD:-build}/windlass-agent")
rounds=${TWO_ROUNDS:-$(((${SOAK_ROUNDS:-60} + 19) / 20))}
seed=${SOAK_SEED:-1}
batches=300
work=$(mktemp -d)
declare -A pid=()
end_all() {
    for p in "${pid[@]}"; do kill -CONT "$p" 2>/dev/null; kill -9 "$p" 2>/dev/null; done
    wait 2>/dev/null
    pid=()
}
trap 'end_all; rm -rf "$work"' EXIT
mkdir -p "$work/model"
python3 tests/data/models/make.py "$work/model"
make_certificate "$work" || exit 3
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=50 -frames:v $batches -c:v libx264 -preset ultrafast -g 25 \
    -pix_fmt yuv420p "$work/in.mp4" </dev/null || exit 3
base=$(first_port)
spec=$(jq -cn '{input: {video: {path: "data/in.mp4"}}, miniBatchSize: 1, output: {path: "out/o"},
    scorer: {onnx: {path: "model/invert.onnx"}}, retry: {maxTries: 3, timeoutSeconds: 60}}')
spec=$(batchscore_spec "$spec")
pod() { # name, coordinate|score, number of its coordinator (or its own)
    env data="$work" out="$work" model="$work/model" WINDLASS_JOB=two WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid-of-two \
        WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="$1" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
        WINDLASS_BIND="127.0.0.1:$((base + $3))" WINDLASS_COORDINATOR="127.0.0.1:$((base + $3))" \
        WINDLASS_COORDINATOR_SHA256="$sha256" WINDLASS_TERMINATION_LOG="$work/$1.words" \
        "$agent" "$2" 2>>"$work/$1.log" &
    pid[$1]=$!
}
# Each cell once; one end.
commits_add_up() {
    python3 - "$work/o/.windlass" $batches <<'P'
import glob, json, sys
done, ends = [], 0
for name in sorted(glob.glob(sys.argv[1] + "/*/commit/*")):
    head, *records, end = [json.loads(line) for line in open(name)]
    done += [cell for r in records if r[0] == "d" for cell in range(r[1], r[1] + r[2])]
    ends += sum(r[0] == "e" for r in records)
sys.exit(0 if sorted(done) == list(range(int(sys.argv[2]))) and ends == 1 else f"{len(done)} cells, {len(set(done))} of them once, {ends} ends")
P
}
wait_for() { # name, seconds: its exit code is in $code, 99 if it still runs
    local end=$((SECONDS + $2))
    while kill -0 "${pid[$1]}" 2>/dev/null && [ $SECONDS -lt $end ]; do nap 0.05; done
    code=99
    kill -0 "${pid[$1]}" 2>/dev/null || { wait "${pid[$1]}"; code=$?; unset "pid[$1]"; }
}
pod quiet-c coordinate 0
pod quiet-w score 0
wait_for quiet-c 60
check "a quiet run" [ $code -eq 0 ]
check "its commits count each once" commits_add_up
wanted=$(sha256sum <"$work/o/in.mp4")
end_all
# Killed after its summary and before tidying up: the next one tidies up.
mkdir -p "$work/o/.windlass/0123456789abcdef/try/0" "$work/o/.windlass/0123456789abcdef/join"
touch "$work/o/.windlass/0123456789abcdef"/{try/0/7-quiet-w-1,join/in.mp4} "$work/o/.windlass-tmp-1-2"
pod quiet-c coordinate 0
wait_for quiet-c 60
check "one that finds the run ended says so (code $code)" grep -q 'an earlier coordinator has ended it: Succeeded' "$work/quiet-c.log"
left=$(cd "$work/o" && find . -path '*/try/*' -o -path '*/join/*' -o -name '.windlass-tmp-*')
check "and removes what was left${left:+: $left}" [ "$code${left}" = 0 ]
check "but not the film" [ "$(sha256sum <"$work/o/in.mp4")" = "$wanted" ]
end_all

round() {
    local count=$((2 + $1 % 2)) codes='' winners=0 fine=yes i
    RANDOM=$(($(cksum <<<"$seed $1" | cut -d" " -f1) % 32768))
    discard "$work/o" "$work"/*.log "$work"/*.words
    for ((i = 0; i < count; i++)); do
        pod "c$i" coordinate $i
        pod "w$i" score $i
        sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
        # The previous one is stopped at a random moment, for some time.
        kill -STOP "${pid[c$i]}"
        ( sleep "$((RANDOM % 4)).$((RANDOM % 10))"; kill -CONT "${pid[c$i]}" ) 2>/dev/null &
        thaw[i]=$!
    done
    for ((i = 0; i < count; i++)); do wait "${thaw[i]}"; done
    for ((i = 0; i < count; i++)); do
        wait_for "c$i" 60
        codes="$codes $code"
        [ $code -ne 0 ] || winners=$((winners + 1))
        case $code in 0|3) ;; *) fine= ;; esac
    done
    holds() { "$@" || { echo "# not so: $*"; fine=; }; }
    holds [ $winners -ge 1 ]
    holds [ "$(sha256sum <"$work/o/in.mp4")" = "$wanted" ]
    holds commits_add_up
    holds [ "$(jq -r .state "$work/o/summary.json")" = Succeeded ]
    # The coordinator that wrote it knows all workers.
    holds [ "$(jq -c '[([.workers[].miniBatches] | add), ([.workers[].items] | add)]' "$work/o/summary.json")" = "[$batches,$batches]" ]
    if [ -z "$fine" ]; then
        echo "# seed $seed, round $1, exit codes$codes"
        tail -n 8 "$work"/*.log | sed 's/^/# /'
    fi
    check "round $1: $count coordinators ended with$codes" [ -n "$fine" ]
    end_all
}
thaw=()
for ((number = 1; number <= rounds; number++)); do round "$number"; done
exit $((failures > 0))
