#!/usr/bin/env bash
# Faults of a gang, by `windlass run`: kill -9 of a rank, of a worker, of the hub; a rank that stops
# (SIGSTOP), that needs more memory than its cgroup allows, that fails too often; fewer workers than wanted; a spot
# machine that goes (a server stands in for Azure's events, and treats each worker as a separate machine). The program
# counts in synchronized steps and continues from its checkpoint, like a training: whatever happens, it ends
# with the sum of an undisturbed run, two gangs never write at once, and nothing is left running.
#   SOAK_ROUNDS: each five times, and more steps; SOAK_SEED: when
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" || { echo "not ok test_gang_faults: cannot be built"; exit 1; }
windlass=$build/windlass
work=$(mktemp -d)
cgroup=/sys/fs/cgroup/memory/windlass-faults-$$
finish() {
    kill $(jobs -p) 2>/dev/null
    wait 2>/dev/null
    rmdir "$cgroup"-* 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))} steps=${SOAK_ROUNDS:+300} times=${SOAK_ROUNDS:+5}
: "${steps:=60}" "${times:=1}"
echo "# seed $seed"

cat >"$work/count.py" <<'P'
import os, signal, sys, time
out, steps = sys.argv[1], int(sys.argv[2])
rank, world, turn = (os.environ["WINDLASS_" + name] for name in ("RANK", "WORLD", "ROUND"))
def put(name, text):
    with open(f"{out}/{name}.{rank}", "w") as file:
        file.write(text)
    os.rename(f"{out}/{name}.{rank}", f"{out}/{name}")
def get(name):
    try:
        return open(f"{out}/{name}").read()
    except FileNotFoundError:
        return ""
step = 0
def told(*_):
    put(f"told-{turn}-{rank}", f"{step}")
    os._exit(143)
signal.signal(signal.SIGTERM, told)
def stay(): # a rank leaves: written steps count, and more steps would be done twice
    if os.path.exists(os.environ["WINDLASS_NOTICE"]):
        put(f"noticed-{turn}-{rank}", f"{step}")
        time.sleep(60)
        os._exit(43)
put(f"pid-{turn}-{rank}", str(os.getpid()))
mine = get("checkpoint") # "STEP SUM ROUND"
step, total = (int(word) for word in (mine or "0 0").split()[:2])
while step < steps:
    step += 1
    put(f"at-{turn}-{rank}", str(step))
    for other in range(int(world)):
        while int(get(f"at-{turn}-{other}") or 0) < step:
            time.sleep(0.01)
            stay()
    total += step
    if rank == "0":
        if get("checkpoint") != mine:
            print("another gang has written", file=sys.stderr)
            os._exit(42)
        mine = f"{step} {total} {turn}"
        put("checkpoint", mine)
    print("step", step, flush=True)
    time.sleep(0.05)
    stay()
    fault = os.environ.get("FAULT", "")
    if fault == f"exit {rank}" and step % 5 == 0:
        print("no such gradient in step", step, file=sys.stderr)
        os._exit(9)
    if fault == f"memory {rank}" and step == 10 and not get("grown"):
        put("grown", "yes")
        kept = bytearray(400 << 20)
        kept[::4096] = bytes(len(kept) // 4096 + (len(kept) % 4096 > 0)).replace(b"\0", b"x")
put(f"sum-{rank}", f"{total} {world}")
P
# start NAME WORKERS [FIELDS] <FIELDS: starts the job.
start() {
    job=$1 out=$work/$1/out/models state=$work/$1/state
    mkdir -p "$out"
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n' "$job"
        printf '  workers: %s\n  launcher: None\n  image: registry.test/any:1\n  volumes: [{name: out, hostPath: {path: %s}}]\n' "$2" "$work/$job/out"
        printf '  outputs: [{id: MODEL, path: out/models}]\n  command: [/usr/bin/python3, %s, $AZ_BATCHAI_OUTPUT_MODEL, "%s"]\n' "$work/count.py" "$steps"
        sed 's/^/  /'
    } >"$work/$job/job.yaml"
    ${within:-} timeout -k 5 300 "$windlass" run --keep -f "$work/$job/job.yaml" --state "$state" >"$work/$job/said" 2>&1 &
    run_pid=$!
}
step() { local number=0 _; { read -r number _ <"$out/checkpoint"; } 2>/dev/null; echo "$number"; }
is_at() { [ "$(step)" -ge "$1" ]; }
# The last round of that rank; its process.
pid_of() { cat "$(find "$out" -name "pid-*-$1" | sort -V | tail -n 1)"; }
agent_of() { # INDEX: that worker's agent, found fast enough on a busy machine
    local of_job
    of_job=$(pgrep windlass-agent | sed 's|.*|/proc/&/environ|' | xargs -r grep -lszx "WINDLASS_JOB=$job")
    # The first is the agent; others are its children before exec.
    # shellcheck disable=SC2086 # several files
    [ -n "$of_job" ] && grep -lszx "WINDLASS_INDEX=$1" $of_job | head -n 1 | cut -d/ -f3
}
# The last message of the last hub.
said() { jq -r "$1" "$(ls -t "$state/pods/$job-0"*/termination-log | head -n 1)" 2>/dev/null; }
none_left() { ! pgrep -f "$work/count.py $out" >/dev/null; }
# ends CODE COUNTS CAUSE: counted and disrupted restarts, and the last one's cause
ends() {
    wait "$run_pid"
    code=$?
    [ $code -eq "$1" ] && [ "$(said '"\(.restarts.counted) \(.restarts.disrupted)"')" = "$2" ] && [ "$(said '.restarts.last.cause // "none"')" = "$3" ] && none_left
}
sum_is_right() { local i; for i in $(seq 0 $((${1:-2} - 1))); do [ "$(cat "$out/sum-$i")" = "$((steps * (steps + 1) / 2)) ${2:-2}" ] || return 1; done; }
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    {
        sed 's/^/# /' "$work/$job/said"
        echo "# hub: $(said .)"
        ls -t "$state"/*.log | head -n 8 | xargs tail -n 12 | sed 's/^/# /'
        ls "$out" | xargs | sed 's/^/# /'
    } 2>/dev/null
}
some_step() { until_true_while "$run_pid" 90 is_at $((3 + RANDOM % (steps / 3))); }
restart='restart: {maxRestarts: 1, backoffSeconds: 0}'

##### who is killed ###############################################################################
rank_killed() { # RANK
    start "rank-$1-$round" 2 <<<"$restart"
    some_step && kill -9 "$(pid_of "$1")"
    ends 0 "1 0" App && sum_is_right && [ "$(said '"\(.restarts.last.index) \(.restarts.last.rank) \(.restarts.last.exitCode)"')" = "$1 $1 137" ]
}
worker_killed() {
    start "worker-$round" 2 <<<"$restart"
    some_step && kill -9 "$(agent_of 1)"
    ends 0 "0 1" Disruption && sum_is_right && [ "$(said .restarts.last.index)" = 1 ]
}
# Its successor knows the number of restarts, and the cause from its pod's end.
leader_killed() {
    start "leader-$round" 2 <<<"$restart"
    some_step && kill -9 "$(agent_of 0)"
    ends 0 "1 0" none && sum_is_right && [ -s "$state/$job-0-2.log" ] && grep -q 'started again 1 time' "$work/$job/said"
}
# SIGTERM, as when a node is drained: not a fault of the job.
worker_leaves() {
    start "leaves-$round" 2 <<<'restart: {maxRestarts: 0, backoffSeconds: 0}'
    some_step && kill -TERM "$(agent_of 1)"
    ends 0 "0 1" Disruption && sum_is_right
}

python3 tests/e2e/score/events.py "$work" >"$work/events.port" 2>"$work/events.log" &
until_true 60 [ -s "$work/events.port" ]
events=http://127.0.0.1:$(cat "$work/events.port")/metadata/scheduledevents?api-version=2020-07-01
# All get the notice, a stop 10 s before, and continue without that worker.
preempted() { # INDEX COUNTS CAUSE
    WINDLASS_EVENTS=$events start "spot-$1-$round" 2 <<<$'spot: true\nrestart: {maxRestarts: 0, backoffSeconds: 0}'
    some_step && LC_ALL=C date -u -d '+16 seconds' '+%a, %d %b %Y %H:%M:%S GMT' >"$work/preempt.new" && mv "$work/preempt.new" "$work/preempt-$job-$1"
    all_noticed() { [ -e "$out/noticed-1048577-0" ] && [ -e "$out/noticed-1048577-1" ]; }
    until_true_while "$run_pid" 60 all_noticed
    rm "$work/preempt-$job-$1"
    ends 0 "$2" "$3" && sum_is_right && [ -s "$out/told-1048577-0" ] && [ -s "$out/told-1048577-1" ] && [ -s "$state/$job-$1-2.log" ] &&
        grep -q 'event e-1: Preempt in 1[0-9] s' "$state/$job-$1.log" && ! grep -q 'event' "$state/$job-$((1 - $1)).log"
}

##### who stands still ############################################################################
rank_stopped() {
    local stopped
    start "stopped-$round" 2 <<<'restart: {maxRestarts: 1, backoffSeconds: 0, hangSeconds: 4}'
    some_step && stopped=$(pid_of 1) && kill -STOP "$stopped"
    ends 0 "1 0" Hang && sum_is_right && [ "$(said .restarts.last.message)" = "worker 1, rank 1 made no progress: process $stopped is stopped (SIGSTOP)" ]
}
# (Its pod runs on: only its silence shows it.)
worker_stopped() {
    start "silent-$round" 2 <<<"$restart"
    some_step && kill -STOP "$(agent_of 1)"
    ends 0 "0 1" Lost && sum_is_right
}

##### memory ######################################################################################
confined() { # FOLDER COMMAND...: in a separate cgroup, which it sees as in a container
    mkdir -p "$1" && echo 250M >"$1/memory.limit_in_bytes" && cg=$1 || return 1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    exec unshare --mount sh -c 'echo $$ >"$0/cgroup.procs" && mount --bind "$0" /sys/fs/cgroup/memory && exec "$@"' "$cg" "$@"
}
memory() {
    local within="confined $cgroup-$round"
    start "memory-$round" 2 <<<"$restart"$'\nenvironment: {FAULT: "memory 1"}'
    ends 0 "1 0" Memory && sum_is_right && said .restarts.last.message | grep -q '^worker 1, rank 1: the kernel killed it because it ran out of memory'
}
memory_twice() {
    local within="confined $cgroup-$round-b"
    start "memory-twice-$round" 2 <<<$'restart: {maxRestarts: 0}\nenvironment: {FAULT: "memory 0"}'
    ends 1 "0 0" Memory && [ "$(said .reason)" = OutOfMemory ] && grep -q 'raise spec.resources.limits.memory' "$work/$job/said"
}

##### who fails, who is missing ###################################################################
# Three starts, each advances five steps.
too_often() {
    start "fails-$round" 2 <<<$'restart: {maxRestarts: 2, backoffSeconds: 0}\nenvironment: {FAULT: "exit 1"}'
    ends 1 "2 0" App && [ "$(said '"\(.reason) \(.restarts.last.exitCode)"')" = "RankFailed 9" ] &&
        grep -q "^windlass: $job failed: worker 1, rank 1 ended with exit code 9: .*no such gradient" "$work/$job/said" && is_at 14 && ! is_at 17
}
fewer() {
    start "fewer-$round" 3 <<<$'minWorkers: 2\nrestart: {maxRestarts: 1, backoffSeconds: 0, waitSeconds: 1}
prepare: [sh, -c, \'while [ $WINDLASS_INDEX = 2 ] && [ ! -e "$1/come" ]; do sleep 0.1; done\', sh, $AZ_BATCHAI_OUTPUT_MODEL]'
    some_step && touch "$out/come" && until_true_while "$run_pid" 60 is_at $(($(step) + 10)) && [ ! -e "$out/pid-1048577-2" ] && kill -9 "$(pid_of 1)"
    ends 0 "1 0" App && sum_is_right 3 3
}

# (A subshell draws other random numbers, unless it gets a seed.)
killed() {
    RANDOM=$((seed % 32768))
    for round in $(seq $times); do
        check "kill -9 of a rank, $round" rank_killed 1; show
        check "kill -9 of rank 0, $round" rank_killed 0; show
        check "a worker that receives SIGTERM is not counted, $round" worker_leaves; show
        check "a spot machine goes: its programs get a notice in time, and nothing is counted, $round" preempted 1 "0 1" Disruption; show
        [ $times -eq 1 ] || check "and that of the one that leads, $round" preempted 0 "0 1" none; show
    done
}
replaced() {
    RANDOM=$(((seed + 1) % 32768))
    for round in $(seq $times); do
        check "kill -9 of a worker is not counted, $round" worker_killed; show
        check "kill -9 of worker 0, $round" leader_killed; show
        check "a round of fewer workers starts, and a later one has more, $round" fewer; show
    done
}
stands() {
    RANDOM=$(((seed + 2) % 32768))
    for round in $(seq $times); do
        check "SIGSTOP of a rank: a hang that names it, $round" rank_stopped; show
        [ $times -eq 1 ] || check "SIGSTOP of a worker: it is lost, and replaced, $round" worker_stopped; show
    done
}
others() {
    for round in $(seq $times); do
        check "a rank that fails too often: the job fails, $round" too_often; show
        if (confined "$cgroup-try" true) 2>/dev/null; then
            check "a rank that needs too much memory, $round" memory; show
            check "and a rank that does so too often, $round" memory_twice; show
        else
            echo "skip memory: no cgroup can be made"
        fi
    done
}
side_by_side killed replaced stands others
exit $((failures > 0))
