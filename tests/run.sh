#!/usr/bin/env bash
# Runs test programs and scripts, and counts their lines:
#   run.sh [--show] [--again] [--beside SCRIPT] [--lanes N] PROGRAM...
#   "ok x" passes, "not ok x" fails, "skip x: why" is shown.
#   --lanes    N run at a time (1), each with separate folders and ports. The longest start first, by the seconds
#              of the last run (build/tests/seconds) or of tests/seconds.txt (made by `make seconds`). Scripts that share
#              a server run one at a time.
#   --beside   this script runs while the others do (N - 1 of them), in the processor time that they leave, and is
#              counted last
#   --again    up to eight programs that failed run once more, one at a time, after the others; only this second run is
#              counted. One that passes then is named as unstable at the end: it is to be mended, or moved to the soak.
#   --show     prints all lines of a program, not only those that failed
# A program that exits non-zero without a "not ok" line (a crash, a sanitizer's report) fails once.
# At the end, shared servers are stopped; a process of this run that is still running fails the run and is named.
# Each line of a program ends with its wall seconds and its processor seconds, with those of the servers that it has
# started (cluster/accounts.sh). What scripts share has lines of its own at the end. build/tests/seconds keeps both.
# The last line is the result: "N passed, N failed"; the lines before it repeat what failed and what was unstable.
set -u
cd "$(dirname "$0")/.." || exit 3
. tests/e2e/python.sh
. tests/cluster/accounts.sh
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
beside= beside_pid= lanes=1 show= again=
failed_programs=() # with --again: not counted yet
seconds_file=build/tests/seconds
declare -A lane_program=() lane_start=() # by process: running programs
declare -A busy=()                       # shared servers in use
# Every process of the run has this in its environment; nested runs add their own.
mark=windlass-test-run-$$-$RANDOM
export WINDLASS_TEST_RUN="${WINDLASS_TEST_RUN:-} $mark"
open_accounts "$mark"
while [[ ${1:-} == --* ]]; do
    case $1 in
    --beside) beside=$2; shift ;;
    --lanes) lanes=$2; shift ;;
    --again) again=yes ;;
    --show) show=yes ;;
    esac
    shift
done

##### processes ###################################################################################
# The processes of this run, except this one: "PID PROGRAM COMMAND" per line.
living() {
    local file pid program command
    for file in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
        pid=${file#/proc/} pid=${pid%/environ}
        program=$(tr '\0' '\n' <"$file" | sed -n 's/^WINDLASS_TEST=//p')
        command=$(tr '\0' ' ' <"/proc/$pid/cmdline") || continue
        [ -z "$command" ] || echo "$pid ${program:-tests/run.sh} ${command:0:160}"
    done
} 2>/dev/null # (errors about processes that have ended meanwhile, like grep itself)
end_all() { # of this run, at once
    local pid rest
    while read -r pid rest; do kill -9 "$pid" 2>/dev/null; done < <(living)
}
interrupted() {
    for pid in $beside_pid "${!lane_program[@]}"; do kill -- "-$pid" 2>/dev/null; done
    stop_shared
    end_all
}
cleanup() {
    [ ${#lane_program[@]} -eq 0 ] && [ -z "$beside_pid" ] || interrupted
    rm -rf "$logs"
    close_accounts
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

##### servers that scripts share ##################################################################
# The one-node cluster (tests/cluster/own.sh) and an API server (tests/e2e/cluster/jobs.sh), each for one script at a time, and
# Azurite (tests/azurite/own.sh), which any number use at a time. The first script that needs one starts it, and it ends with
# the run; the API server with the last of its scripts, since idle it takes a fiftieth of a processor. A nested run shares
# nothing. (Scripts that change more of an API server than their namespace have one of their own.)
shared=
if [ "$(wc -w <<<"$WINDLASS_TEST_RUN")" = 1 ] && [ "$lanes" -gt 1 ]; then
    shared=$logs/shared
    export WINDLASS_SHARED=$shared
fi
server_of() { # PROGRAM: the server that it shares, and "last" if it ends the server
    case $1 in tests/e2e/*) ;; *) return ;; esac
    ! grep -qx 'namespace=[a-z-]*' "$1" || ! grep -q '^\. tests/e2e/cluster/jobs\.sh' "$1" || { echo api; return; }
    grep -q '^\. tests/cluster/own\.sh' "$1" || return
    echo cluster "$(! grep -q '^tests/cluster/down\.sh' "$1" || echo last)"
}
# ffmpeg and ffprobe, which load two hundred libraries at each of a thousand starts: warm ones (tests/warm) have loaded them.
warm_pids=()
start_warm() {
    local folder=$logs/warm name program
    mkdir "$folder"
    gcc -O1 -shared -fPIC -o "$folder/server.so" tests/warm/server.c && gcc -O1 -static -o "$folder/client" tests/warm/client.c || return
    for name in ffmpeg ffprobe; do
        program=$(command -v $name) && cp "$folder/client" "$folder/$name" || return
        on_account ffmpeg env LD_BIND_NOW=1 LD_PRELOAD="$folder/server.so" "$program" "$folder" $name </dev/null &
        warm_pids+=($!)
    done
    PATH=$folder:$PATH
} >/dev/null 2>&1
[ -z "$shared" ] || start_warm
stop_shared() {
    [ -n "$shared" ] || return 0
    [ ${#warm_pids[@]} -eq 0 ] || { kill "${warm_pids[@]}"; wait "${warm_pids[@]}"; }
    [ ! -e "$shared/cluster" ] || tests/cluster/down.sh
    [ ! -e "$shared/azurite" ] || tests/azurite/start.sh stop "$shared/azurite"
    [ ! -e "$shared/api" ] || tests/cluster/api-server.sh stop "$shared/api"
} >/dev/null 2>&1
print_shared() { # what has worked for several scripts
    local name worked
    for name in cluster pods api azurite ffmpeg; do
        worked=$(worked_in "${WINDLASS_ACCOUNTS:-}/$name")
        [ $name != pods ] || worked=$(cat "$shared/pods" 2>/dev/null) # down.sh writes it: kubelet makes their cgroups
        [ -z "$worked" ] || printf '%-85s %5.1f s of processor\n' "of several: $name" "$worked"
    done
}

##### the order ###################################################################################
# "SECONDS PROGRAM SERVER" per line, the longest first. Programs that share a server count as one long program, which
# must start at once; among them the one that ends the server (cluster/down.sh) comes last.
in_order() {
    local program
    for program in "$@"; do
        echo "$program $(server_of "$program")"
    done | awk '
        FILENAME != "-" { known[$1] = $2; next }
        {
            name = $1; sub(/^.*build\//, "", name); plain = name; sub(/^sanitize-[a-z-]*\//, "", plain)
            if (!(name in known)) name = plain # under sanitizers in this order, too
            program[NR] = $1; seconds[NR] = name in known ? known[name] : name ~ /^tests\/e2e/ ? 30 : 1
            server[NR] = $2; last[NR] = $3 == "last"; total[$2] += seconds[NR]
        }
        END {
            for (i in program) {
                key = server[i] == "" ? seconds[i] : total[server[i]] - last[i] * 0.5
                printf "%010.1f %06d %06d %s %s\n", key, seconds[i] * !last[i], 999999 - i, program[i], server[i]
            }
        }' tests/seconds.txt "$([ -e $seconds_file ] && echo $seconds_file || echo /dev/null)" - | sort -r | cut -d' ' -f4-
}

##### programs ####################################################################################
start_one() { # program, log; its exit code. In a subshell of its own, whose processor time goes to LOG.worked.
    local code account=${2##*/}.$EPOCHREALTIME # (a process number comes again in a long run)
    # Of its own, too, are the runs that `windlass status NAME` looks through before it asks a cluster.
    export WINDLASS_TEST=${1#build/} XDG_STATE_HOME=$logs/state.$account
    case $1 in
    *.sh) (on_account "$account" timeout --foreground "${TEST_TIMEOUT:-1200}" bash "$1") ;;
    *.py) (on_account "$account" timeout --foreground "${TEST_TIMEOUT:-7200}" python3 "$1") ;;
    *) (on_account "$account" timeout --foreground "${TEST_TIMEOUT:-900}" "$1") ;;
    esac >"$2" 2>&1
    code=$?
    # Without an account: the shell's own, and what it has waited for ("0m1.234s" for user and system time).
    { worked_in "${WINDLASS_ACCOUNTS:-}/$account"; times; } >"$2.worked"
    return $code
}
processor_seconds() { # log
    [ -s "$1.worked" ] || { echo 0.0; return; }
    awk -F '[ms ]+' 'NF == 1 { total = $1; exit } { total += ($1 + $3) * 60 + $2 + $4 } END { printf "%.1f\n", total }' "$1.worked"
}

count() { # program, log, exit code, seconds
    local program=$1 log=$2 code=$3 p f s worked
    [ "$code" -ne 124 ] || echo "not ok $program: ran out of time" >>"$log"
    p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
    if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; echo "not ok $program: exit code $code" >>"$log"; fi
    if [ "$code" -eq 0 ] && [ $((p + f + s)) -eq 0 ]; then f=1; echo "not ok $program: printed no result" >>"$log"; fi
    worked=$(processor_seconds "$log")
    printf '%-64s %4d ok %3d failed %3d s %5.1f s of processor\n' "${program#build/}" "$p" "$f" "$4" "$worked"
    if [ -n "$show" ]; then cat "$log"; else failures_of "$log" "$f"; fi
    if [ "$f" -gt 0 ] && [ -n "$again" ] && [ "$program" != "$beside" ]; then
        failed_programs+=("$program")
        cp "$log" "$logs/first.${#failed_programs[@]}"
        return
    fi
    sed -n "s|^not ok |failed: ${program#build/}: |p" "$log" | head -n 20 >>"$logs/summary"
    sed -nE 's/^ +((failed|unstable): )/\1/p' "$log" | head -n 20 >>"$logs/summary" # of a nested run
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$f" -gt 0 ] || echo "${program#build/} $4 $worked" >>"$logs/seconds"
}
failures_of() { # log, how many
    grep '^skip ' "$1"
    # The first failures: if a script prints its servers' logs, the last lines do not include them.
    [ "$2" -eq 0 ] || { sed -n 's/^not ok /# failed: /p' "$1" | head -n 20; grep -v '^ok ' "$1" | tail -n 60; }
}

# A busy machine can fail a test, and so can a real fault that comes only at times: a program that failed gets a second
# run, alone, and the summary names both. More than eight failures have another cause and are counted as they are.
run_again() {
    local at program log code start
    again=
    for at in "${!failed_programs[@]}"; do
        program=${failed_programs[at]} log=$logs/first.$((at + 1)) code=1 start=$SECONDS
        if [ ${#failed_programs[@]} -le 8 ]; then
            echo "once more: ${program#build/}"
            (start_one "$program" "$logs/second.$at")
            code=$?
            if [ $code -eq 0 ] && ! grep -q '^not ok ' "$logs/second.$at"; then
                sed -n "s|^not ok |unstable: ${program#build/}: |p" "$log" | head -n 20 >>"$logs/summary"
            fi
            log=$logs/second.$at
        fi
        count "$program" "$log" $code $((SECONDS - start))
    done
}

start_beside() {
    beside_start=$SECONDS
    set -m # a separate process group, so that it ends with us
    # Its exit code goes to a file: when it ends long before the lanes, bash may have forgotten it (`wait`: 127).
    (
        TEST_TIMEOUT=${TEST_TIMEOUT:-3600} start_one "$beside" "$logs/beside"
        echo "$? $SECONDS" >"$logs/beside.code"
    ) &
    beside_pid=$!
    set +m
    renice -n 10 -g $beside_pid >/dev/null
}
end_one() { # waits for one of the lanes
    local pid code
    wait -n -p pid "${!lane_program[@]}"
    code=$?
    [ $code -ne 124 ] || kill -- "-$pid" 2>/dev/null
    count "${lane_program[$pid]% *}" "$logs/$pid" $code $((SECONDS - lane_start[$pid]))
    local server=${lane_program[$pid]#* }
    unset "busy[$server]" "lane_program[$pid]"
    [ "$server" != api ] || [[ " ${line[*]} " == *" api "* ]] || end_api
}
end_api() {
    [ -n "$shared" ] || return 0
    tests/cluster/api-server.sh stop "$shared/api" >/dev/null 2>&1
    rm -rf "$shared/api"
}
start_lane() { # program, server
    set -m
    (start_one "$1" "$logs/$BASHPID") &
    set +m
    lane_program[$!]="$1 $2"
    lane_start[$!]=$SECONDS
    [ "$2" = none ] || busy[$2]=yes
}
# The first waiting program whose server is free.
start_next() {
    local at
    for at in "${!line[@]}"; do
        read -r program server <<<"${line[at]}"
        [ -z "${busy[${server:-none}]:-}" ] || continue
        unset "line[$at]"
        start_lane "$program" "${server:-none}"
        return 0
    done
    return 1
}

# What the processors of this machine have done since its start: "USER SYSTEM", in hundredths of a second (proc(5)).
machine_worked() { awk '{ print $2 + $3, $4 + $7 + $8; exit }' /proc/stat; }
machine_before=$(machine_worked)

[ -z "$beside" ] || start_beside
if [ "$lanes" -gt 1 ]; then mapfile -t line < <(in_order "$@"); else line=("$@"); fi
while [ ${#line[@]} -gt 0 ]; do
    # How many programs may run now: one less beside the compilers and sanitizers of the first minutes.
    room=$lanes
    if [ "$lanes" -gt 1 ] && [ -n "$beside" ] && [ ! -s "$logs/beside.code" ]; then room=$((lanes - 1)); fi
    if [ ${#lane_program[@]} -ge $room ] || ! start_next; then end_one; fi
done
while [ ${#lane_program[@]} -gt 0 ]; do end_one; done
[ -z "$again" ] || [ ${#failed_programs[@]} -eq 0 ] || run_again
if [ -n "$beside" ]; then
    wait "$beside_pid" 2>/dev/null
    code=137 beside_end=$SECONDS # (unless it was killed)
    [ ! -s "$logs/beside.code" ] || read -r code beside_end <"$logs/beside.code"
    beside_pid=
    count "$beside" "$logs/beside" "$code" $((beside_end - beside_start))
fi
stop_shared

##### nothing may be left #########################################################################
# (A process that ends with its owner checks every second.)
for _ in $(seq 40); do
    left=$(living)
    [ -n "$left" ] || break
    sleep 0.5
done
if [ -n "$left" ]; then
    while read -r pid program command; do
        echo "not ok process $pid of $program is left running: $command" | tee -a "$logs/summary"
        failed=$((failed + 1))
    done <<<"$left"
    end_all
fi
if [ -s "$logs/seconds" ] && [ -d build/tests ]; then
    [ ! -e $seconds_file ] || awk 'NR == FNR { new[$1]; next } !($1 in new)' "$logs/seconds" $seconds_file >"$logs/old"
    cat "$logs/seconds" "$logs/old" 2>/dev/null | sort >"$logs/all" && cp "$logs/all" $seconds_file
fi
print_shared
# (Each outermost run says this. On a machine that does something else, too, it is more than the tests' own.)
[ "$(wc -w <<<"$WINDLASS_TEST_RUN")" != 1 ] || echo "$machine_before $(machine_worked)" | awk -v wall="$SECONDS" -v n="$(nproc)" \
    '{ printf "%d s; %d processors worked for %.1f min, %.1f of them in the system\n", wall, n, ($3 + $4 - $1 - $2) / 6000, ($4 - $2) / 6000 }'
[ $skipped -eq 0 ] || echo "$skipped skipped"
[ ! -s "$logs/summary" ] || cat "$logs/summary"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
