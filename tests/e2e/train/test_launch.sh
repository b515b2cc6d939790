#!/usr/bin/env bash
# windlass-shim launch, pods that are network namespaces (tests/netns.bash): all start when all are present, including
# prepared and late ones; ranks' variables; failures are reported; one failure restarts all; a pod that dies, leaves, is
# cut off for 5 s or permanently; member 0's pod replaced; the token is not readable, secrets belong to the ranks; a
# rank's output is kept, and the cause of its end is reported. Launchers None, Torchrun, and the
# mpirun of Open MPI, the mpiexec of MPICH.
#   SOAK_ROUNDS: number of late starts and cuts (divided by 100); SOAK_SEED: when
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/netns.bash
net_possible || { echo "skip launch: network namespaces want root"; exit 0; }
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass-shim" || { echo "not ok test_launch: cannot be built"; exit 1; }
work=$(mktemp -d)
declare -A pid=()
finish() {
    kill -9 "${pid[@]}" 2>/dev/null
    net_down
    wait 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
net_up 17 none || { echo "not ok test_launch: no network namespaces"; exit 1; }
make_certificate "$work" || exit 3
RANDOM=$((${SOAK_SEED:-20261121} % 32768))
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')

# job NAME WORKERS SPEC: the job whose pods `pod` starts from here on; its pods are on machines base + 1, ...
job() { job_name=$1 workers=$2 out=$work/$1 spec=$3; mkdir -p "$out"; : "${base:=0}"; }
# pod INDEX [ATTEMPT [MACHINE]]
pod() {
    local index=$1 attempt=${2:-1} machine=${3:-$((base + $1 + 1))} own=(WINDLASS_HUB="${hub_ip:-10.77.0.$((base + 1))}:${hub_port:-8443}" WINDLASS_HUB_SHA256="$sha256")
    [ "$index" -gt 0 ] || own=(WINDLASS_BIND="10.77.0.$((base + 1)):8443" WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")"
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_UID=u "${counts[@]}")
    # (A simple command: its pid is the program's.)
    # (TMPDIR: machines have the same names in every run of this test, and Open MPI names its session folders after
    # them.) shellcheck disable=SC2016 # the inner shell's
    nsenter --net="/run/netns/$net_prefix-$machine" unshare --uts --ipc -- sh -c 'hostname "$0" && exec "$@"' "machine-$machine" env -i TMPDIR="$work" PATH="$PATH" out="$out" shim="$build/windlass-shim" WINDLASS_JOB="$job_name" WINDLASS_RUN=0123456789abcdef WINDLASS_SPEC="$spec" \
        WINDLASS_TOKEN="$token" WINDLASS_WORKER="$job_name-$index-$attempt" WINDLASS_INDEX="$index" WINDLASS_ATTEMPT="$attempt" \
        POD_IP="10.77.0.$machine" WINDLASS_FOLDER="$out/pod-$index-$attempt" WINDLASS_TERMINATION_LOG="$out/words-$index-$attempt" \
        "${own[@]}" "${extra[@]}" "$build/windlass-shim" launch >"$out/pod-$index-$attempt.out" 2>"$out/pod-$index-$attempt.log" &
    pid[$job_name-$index-$attempt]=$!
}
counts=() extra=()
# ends INDEX ATTEMPT: its exit code is in $code
ends() {
    local key=$job_name-$1-${2:-1} end=$((SECONDS + ${patience:-60}))
    while kill -0 "${pid[$key]}" 2>/dev/null && [ $SECONDS -lt $end ]; do nap 0.05; done
    code=99
    if kill -0 "${pid[$key]}" 2>/dev/null; then kill -9 "${pid[$key]}"; else wait "${pid[$key]}"; code=$?; fi
    unset "pid[$key]"
}
all_end() { local i; codes=; for i in $(seq 0 $((workers - 1))); do ends "$i" "${1:-1}"; codes="$codes $code"; done; }
said() { jq -r "$1" "$out/words-0-${2:-1}" 2>/dev/null; }
progress() { net_run $((base + 1)) curl -sk --max-time 3 "https://10.77.0.$((base + 1)):8443/progress"; }
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -n 12 "$out"/pod-*.log | sed 's/^/# /'
    sed 's/^/# words: /; $a\' "$out"/words-* 2>/dev/null
}
restart='"restart":{"maxRestarts":3,"backoffSeconds":0,"waitSeconds":60,"hangSeconds":0}'
words() { jq -cn '$ARGS.positional' --args -- "$@"; }
# spec_of WORKERS LAUNCHER SLOTS COMMAND...
spec_of() { echo "{\"workers\":$1,\"minWorkers\":$1,\"gpus\":0,\"slotsPerWorker\":$3,\"launcher\":\"$2\",$restart,\"outputs\":[{\"id\":\"MODEL\",\"path\":\"out/models\"}],\"command\":$(words "${@:4}")}"; }

##### cut for ever: beside all others, as silence takes 24 s ######################################
base=4
# shellcheck disable=SC2016 # the program's own shell
forever=$(spec_of 2 None 1 bash -c 'echo start $WINDLASS_ROUND $WINDLASS_RANK $BASHPID >>$out/starts; for i in $(seq 3000); do [ ! -e $out/end ] || exit 0; sleep 0.1; done; exit 9')
job forever 2 "$forever"
pod 0; pod 1
lines() { cat "$1" 2>/dev/null | wc -l; }
both_run() { [ "$(lines "$out/starts")" -ge "${1:-2}" ]; }
check "two pods run" until_true 60 both_run
net_cut 6
cut_at=$SECONDS

##### two pods that cannot reach each other, as with a network policy; in parallel, as they try 15 s #
ip -n "$net_prefix-8" route add prohibit 10.77.0.9/32
base=6
job walled 3 "$(spec_of 3 None 1 bash -c 'echo $WINDLASS_RANK >>$out/starts')"
for i in 0 1 2; do pod $i; done
base=0

##### all together ################################################################################
# Each logs when it began; `prepare` of all must have ended before.
# shellcheck disable=SC2016
together=$(spec_of 3 None 1 bash -c 'ls $out/prepared.* | wc -l >$out/began.$WINDLASS_RANK; env >$out/env.$WINDLASS_RANK; $shim metric loss 0.${WINDLASS_RANK}5 4$WINDLASS_RANK; echo "rank $WINDLASS_RANK of $WINDLASS_WORLD"')
logs=',"logs":{"path":"out/logs"}}'
together=${together%\}}',"logs":{"path":"out/logs"},"prepare":["bash","-c","sleep 0.$WINDLASS_INDEX; touch $out/prepared.$WINDLASS_INDEX"]}'
together() { # DELAY...
    local i
    rm -rf "$out"; mkdir -p "$out/pod-1-1/bin"
    ln -s /gone "$out/pod-1-1/bin/rank" # from an earlier run, of a program that was moved
    for i in 0 1 2; do
        pod $i
        sleep "${delays[$i]}"
    done
    all_end
    [ "$codes" = " 0 0 0" ] && [ "$(cat "$out"/began.{0,1,2} | xargs)" = "3 3 3" ] &&
        grep -qx 'rank 2 of 3' "$out/pod-2-1.out" && [ "$(said .state)" = Succeeded ] &&
        [ "$(said .restarts.counted)$(said .restarts.disrupted)" = 00 ] && [ "$(said '"\(.step) \(.loss)"')" = "40 0.05" ]
}
job together 3 "$together"
delays=(0.3 0.3 0)
check "three pods start together, whenever each comes and prepares; rank 0 reports a metric" together
show
for round in $(seq $((${SOAK_ROUNDS:-0} / 100))); do
    delays=($((RANDOM % 20)).$((RANDOM % 10)) $((RANDOM % 20)) 0)
    check "late $round: ${delays[*]}" together
    show
done
variables() {
    grep -qx 'AZ_BATCH_HOST_LIST=10.77.0.1,10.77.0.2,10.77.0.3' "$out/env.1" && grep -qx 'AZ_BATCHAI_TASK_INDEX=1' "$out/env.1" &&
        grep -qx "AZ_BATCHAI_OUTPUT_MODEL=$out/models" "$out/env.1" && grep -q '^TF_CONFIG={"cluster".*10.77.0.3:[0-9]*.*"index": 2' "$out/env.2" &&
        [ "$(cat "$out/pod-1-1/run/hosts")" = "$(printf '10.77.0.%s slots=1\n' 1 2 3)" ]
}
check "their variables, outputs' folders and hostfiles" variables
# The output of its ranks, from the pieces; $1: 1 for stdout of rank 001
kept() { cat "$out/logs/rank.$1/${2:-stdout}"/* 2>/dev/null; }
kept_once() { local i; for i in 0 1 2; do [ "$(kept 00$i | grep -v '^-- ')" = "rank $i of 3" ] && kept 00$i | grep -q "^-- 20.*Z round 1048577, together-$i-1\$" || return 1; done; }
check "the output of each is stored once" kept_once
no_secret() { ! grep -rqF -e "$token" -e 'PRIVATE KEY' "$out"; }
check "the token is in no variable, log or file" no_secret

##### processes of Torchrun #######################################################################
# shellcheck disable=SC2016
job torch 2 "$(spec_of 2 Torchrun 2 bash -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR $((MASTER_PORT > 1024))"')"
pod 0; pod 1; all_end
proof() { said '.proof | "\(.by) \(.count)"'; }
torch() { [ "$codes" = " 0 0" ] && [ "$(proof)" = "Processes 4" ] && [ "$(sort "$out"/pod-*.out | xargs -n 5 | paste -sd,)" = "0/4 0/2 0 10.77.0.1 1,1/4 1/2 0 10.77.0.1 1,2/4 0/2 1 10.77.0.1 1,3/4 1/2 1 10.77.0.1 1" ]; }
check "Torchrun: each process has its rank" torch
show

##### what a job is tuned for ######################################################################
# Only rank 0 counts; it is killed after its third report, and repeated reports replace the earlier ones.
metrics() { echo "${1%\}},\"metrics\":$(jq -c '{evaluationInterval: 1, delayEvaluation: 0} + .' <<<"$2")}"; }
# shellcheck disable=SC2016
tuned=$(spec_of 2 None 1 bash -c 'say() { echo "mAP@IoU=0.50 $1 step $2"; }; [ $WINDLASS_RANK = 0 ] || { say 1 1; exec sleep 2; }
    [ ! -e $out/again ] || { say 0.75 20; say 0.625 30; exit 0; }; touch $out/again; say 0.25 10; say 0.5 20; say 0.5 30; kill -9 $BASHPID')
job tuned 2 "$(metrics "$tuned" '{"objective":"mAP@IoU=0.50","goal":"Maximize","pattern":"(mAP@[^ ]+) ([0-9.]+) step ([0-9]+)"}')"
pod 0; pod 1; all_end
tuned() { [ "$codes" = " 0 0" ] && [ "$(said '.objective | "\(.reports) \(.step) \(.last) \(.best) \(.mean) \(.at)"')" = "3 30 0.625 0.75 $1 1:10:0.25:0.25 2:20:0.75:0.5 3:30:0.75:$2" ]; }
check "lines by a pattern: rank 0's alone, and once over a restart" tuned 0.541666666666667 0.541666667
show
# A file left by an earlier run; a hub that continues from the reports of another one.
# shellcheck disable=SC2016
from_file=$(spec_of 2 None 1 bash -c '[ $WINDLASS_RANK = 0 ] || exit 0; cd $AZ_BATCHAI_OUTPUT_MODEL; echo "loss=7"; for i in 2 3; do echo "{\"name\": \"loss\", \"value\": $i, \"step\": $i}" >>m.jsonl; done; sleep 0.4
    printf "{\"name\": \"loss\", \"value\": NaN, \"step\": 4}\n{\"name\": \"loss\", \"value\": 0.5, \"step\": 5}" >>m.jsonl')
job from-file 2 "$(metrics "$from_file" '{"objective":"loss","goal":"Minimize","file":"MODEL/m.jsonl"}')"
mkdir -p "$out/models"
echo '{"name": "loss", "value": -1, "step": 1}' >"$out/models/m.jsonl"
counts=('WINDLASS_OBJECTIVE={"reports":2,"step":2,"last":"8","best":"4","mean":"6","at":"1:1:4:4 2:2:4:6"}')
pod 0; pod 1; all_end
counts=()
from_file() { [ "$codes" = " 0 0" ] && [ "$(said '.objective | "\(.reports) \(.last) \(.best) \(.at)"')" = "5 0.5 0.5 1:1:4:4 2:2:2:3 3:3:2:3 4:4:2:3 5:5:0.5:2.375" ]; }
check "lines of a file: those that are new, the last without an end; another hub goes on" from_file
show
# shellcheck disable=SC2016
others=$(spec_of 2 None 1 bash -c '[ $WINDLASS_RANK = 0 ] || exit 0; windlass-agent metric acc -0.5 --step 3 && windlass-agent metric loss nan; windlass-agent metric "two words" 1; echo $?')
job others 2 "$(metrics "$others" '{"objective":"accuracy","goal":"Maximize"}')"
pod 0; pod 1; all_end
others() { [ "$codes" = " 0 0" ] && [ "$(said '.objective | [.reports, .others, .otherReports] | tojson')" = '[0,["acc","loss"],2]' ] && grep -qx 2 "$out/pod-0-1.out"; }
check "windlass-agent metric; other metrics are reported by name" others
show

##### the status protocol of Kubeflow Trainer ######################################################
# Rank 0 posts what Hugging Face's callback posts; pod 1 asks its own agent wrongly and rightly, and that of pod 0, which
# only listens on loopback.
cat >"$work/ask" <<'S'
ask() { curl -s -o "$out/answer" -w '%{http_code}\n' --max-time 60 --cacert "$KUBEFLOW_TRAINER_STATUS_CA_CERT" "$@"; }
own=(-H "Authorization: Bearer $(<"$KUBEFLOW_TRAINER_STATUS_TOKEN")") url=$KUBEFLOW_TRAINER_STATUS_URL
ask "${own[@]}" -d '{"trainerStatus": {"metrics": [{"name": "tokens/s", "value": "9000"}]}}' "$url"
ask "${own[@]}" -d '{}' "$url"
ask "${own[@]}" -d '{"trainerStatus": {"progressPercentage": 101}}' "$url"; jq -r .message "$out/answer"
ask "${own[@]}" -d '{"trainerStatus": ' "$url"
ask -H "Authorization: Bearer wrong" -d '{}' "$url"; ask -d '{}' "$url"
ask "${own[@]}" "$url"; ask "${own[@]}" -d '{}' "${url%/*}"; ask "${own[@]}" -d '{}' "${url%/*}/1"
head -c 70000 /dev/zero | ask "${own[@]}" --data-binary @- "$url"
until [ -s "$out/url" ]; do sleep 0.05; done
ask -k --connect-timeout 5 "$(sed 's/127.0.0.1/10.77.0.1/' "$out/url")"
stat -c %a "$KUBEFLOW_TRAINER_STATUS_TOKEN"
S
# shellcheck disable=SC2016
job posted 2 "$(metrics "$(spec_of 2 None 1 bash -c '[ $WINDLASS_RANK = 0 ] || exec bash "$0"; python3 -B "$1"; echo "$KUBEFLOW_TRAINER_SERVER_URL" >"$out/url.new"; mv "$out/url.new" "$out/url"; until [ -e "$out/end" ]; do sleep 0.05; done' \
    "$work/ask" "$PWD/tests/e2e/train/posts.py")" '{"objective":"eval_loss","goal":"Minimize"}')"
pod 0; pod 1
live() { progress | jq -e '.percent == 100 and .metrics."tokens/s" == "9000"' >/dev/null; }
check "while it runs the status has what was posted" until_true 60 live
touch "$out/end"
all_end
posted() {
    [ "$codes" = " 0 0" ] && [ "$(said '[.percent, .secondsLeft, .step, .epoch, .loss, .objective.reports, .objective.best] | tojson')" = '[100,0,4,2,"0.25",2,"0.5"]' ] &&
        [ "$(said . | jq -cS .metrics)" = '{"eval_loss":"0.5","grad_norm":"0.5","learning_rate":"5e-05","tokens/s":"9000"}' ]
}
check "Hugging Face's posts are the job's status and its objective" posted
refused() { [ "$(xargs <"$out/pod-1-1.out")" = "200 200 422 trainerStatus.progressPercentage is not a whole number from 0 to 100 422 403 403 405 404 410 000 000 600" ]; }
check "curl: another token, path, method, an earlier round, wrong and long bodies, and another pod's agent are refused" refused
show

##### what fails ##################################################################################
fails() { # NAME SPEC REASON MESSAGE
    job "$1" 2 "$2"
    pod 0; pod 1
    ends 0
    [ "$code" = 1 ] && kill -TERM "${pid[$1-1-1]}" 2>/dev/null # (the plan deletes it)
    first=$code
    ends 1
    [ "$first" = 1 ] && [ "$(said .state)" = Failed ] && [ "$(said .reason)" = "$3" ] && said .message | grep -qE "$4"
}
once=$(spec_of 2 None 1 "bash" "-c" 'echo one; echo last words; exit $((7 * WINDLASS_RANK))' | sed 's/"maxRestarts":3/"maxRestarts":0/')
check "a rank's exit code and the end of its output" fails code "$once" RankFailed '^worker 1, rank 1 ended with exit code 7: one \| last words$'
show
# The program's own exit code above 128 does not mean a signal. Rank 0 ends slowly: meanwhile nothing restarts.
high=$(spec_of 2 None 1 bash -c 'trap "sleep 2; exit 0" TERM; [ $WINDLASS_RANK = 0 ] || exit 132; sleep 600 & wait' | sed 's/"maxRestarts":3/"maxRestarts":0/')
states() { while sleep 0.1; do progress | jq -r .state; done; }
base=0 states >"$work/states" 2>/dev/null &
states_pid=$!
check "a code above 128" fails high "$high" RankFailed '^worker 1, rank 1 ended with exit code 132$'
show
kill $states_pid
check "a job that was stopped does not start again" eval 'grep -qx Stopping "$work/states" && ! grep -q Restarting "$work/states"'
check "a command that is not there" fails none "$(spec_of 2 None 1 no-such-program)" CommandNotFound 'no-such-program'
show
none=$(spec_of 2 None 1 no-such-program)
check "and where logs are kept" fails none-kept "${none%\}}$logs" CommandNotFound 'no-such-program'
show
check "prepare that fails" fails prepare "${together//sleep 0./exit 4; sleep 0.}" PrepareFailed 'spec.prepare ended with 4'
show
##### Open MPI ##################################################################################
mpi=
if mpicc -o "$work/sum" tests/e2e/train/sum.c 2>/dev/null && mpirun --version | grep -q 'Open MPI'; then mpi=1; else echo "skip Open MPI: it is not here"; fi
mpi_job() { # NAME, ARGUMENT of sum
    local one
    # shellcheck disable=SC2016
    one=$(spec_of 3 MPI 2 bash -c 'env >$out/env.command; exec mpirun -np 6 "$@"' bash "$work/sum" "${@:2}" | sed 's/"maxRestarts":3/"maxRestarts":0/')
    job "$1" 3 "${one%\}},\"secrets\":[\"HUSH\"]$logs"
    extra=(HUSH=quiet)
    pod 2; pod 1; sleep 0.5; pod 0
    extra=()
    all_end
}
sums() {
    mpi_job mpi
    [ "$codes" = " 0 0 0" ] && [ "$(proof)" = "Ranks 6" ] && [ "$(grep -c '^rank [0-5] of 6 in pod .*: 15 quiet$' "$out/pod-0-1.out")" = 6 ] &&
        grep -q '^rank 1 of 6 in pod 0:' "$out/pod-0-1.out" && grep -q '^rank 2 of 6 in pod 1:' "$out/pod-0-1.out" && grep -q '^rank 5 of 6 in pod 2:' "$out/pod-0-1.out"
}
[ -z "$mpi" ] || check "mpirun over three pods without ssh, ranks with their secret" sums
show
mpirun_has_none() { grep -q '^OMPI_MCA_' "$out/env.command" && ! grep -q -e '^HUSH=' -e '^WINDLASS_INDEX=' -e '^POD_IP=' "$out/env.command"; }
[ -z "$mpi" ] || check "which mpirun lacks" mpirun_has_none
ranks_kept() {
    local i
    for i in 0 1 2 3 4 5; do [ "$(kept 00$i | grep -v '^-- ')" = "rank $i of 6 in pod $((i / 2)): 15 quiet" ] || return 1; done
    [ "$(grep -hc '^rank ' "$out/logs/command/stdout/0000")" = 6 ]
}
[ -z "$mpi" ] || check "what each rank said is kept, beside the command's" ranks_kept
code_of_a_rank() {
    mpi_job code7 fail
    [ "$codes" = " 1 0 0" ] && [ "$(said .reason)" = RankFailed ] && said .message | grep -q '^worker 1, rank 2 ended with exit code 7: rank 2 of 6 in pod 1: 15 quiet$'
}
[ -z "$mpi" ] || check "and a rank's code and last words come through" code_of_a_rank
show
# What horovodrun runs (Horovod 0.28, seen with -v): a try of ssh, whose options come behind the host; mpirun with each of
# its variables by -x; over gloo a line for the shell of each host.
horovod() {
    cat >"$work/as-horovodrun" <<'S'
hosts=($(cut -d' ' -f1 "$AZ_BATCHAI_MPI_HOST_FILE"))
remote=(ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no)
for host in "${hosts[@]:1}"; do "${remote[@]}" "$host" -o ConnectTimeout=10 true || exit 3; done
variables=($(compgen -e | sed 's/^/-x /'))
mpirun --allow-run-as-root --tag-output -np 6 -H "$(printf '%s:2,' "${hosts[@]}" | sed 's/,$//')" -bind-to none -map-by slot -mca pml ob1 \
    -mca btl ^openib -mca btl_tcp_if_include eth0 -x NCCL_SOCKET_IFNAME=eth0 "${variables[@]}" "$1" || exit 4
"${remote[@]}" "${hosts[2]}" 'cd / > /dev/null 2>&1 ; env HOROVOD_RANK=4 HOROVOD_SIZE=6 sh -c '\''echo "$HOROVOD_RANK of $HOROVOD_SIZE at $PWD, $POD_IP"; exit 5'\'
[ $? = 5 ]
S
    job horovod 3 "$(spec_of 3 MPI 2 bash "$work/as-horovodrun" "$work/sum" | sed 's/"maxRestarts":3/"maxRestarts":0/')"
    pod 0; pod 1; pod 2
    all_end
    [ "$codes" = " 0 0 0" ] && [ "$(proof)" = "Ranks 6" ] && grep -qx '4 of 6 at /, 10.77.0.3' "$out/pod-2-1.out" &&
        [ "$(grep -oE '^\[1,[0-5]\]<stdout>:rank [0-5] of 6 in pod [0-2]: 15' "$out/pod-0-1.out" | sort | xargs)" = "$(for i in 0 1 2 3 4 5; do echo "[1,$i]<stdout>:rank $i of 6 in pod $((i / 2)): 15"; done | xargs)" ]
}
[ -z "$mpi" ] || check "what horovodrun does, with mpirun and with ssh alone" horovod
show
# Rank 2 is in pod 1, whose agent reports it; mpirun's exit code never leaves the script.
hidden() {
    # shellcheck disable=SC2016
    job hidden 3 "$(spec_of 3 MPI 2 bash -c 'mpirun -np 6 "$@" fail; exit 0' bash "$work/sum" | sed 's/"maxRestarts":3/"maxRestarts":0/')"
    pod 0; pod 1; pod 2
    all_end
    [ "$codes" = " 1 0 0" ] && said .message | grep -q '^worker 1, rank 2 ended with exit code 7: rank 2 of 6 in pod 1: 15 (null) (spec.command ended with 0 all the same'
}
[ -z "$mpi" ] || check "a rank of another pod fails, and the script hides it" hidden
show
# The daemon of pod 1 is killed with its ranks, and the script ends with 0.
shot() {
    # shellcheck disable=SC2016
    job shot 2 "$(spec_of 2 MPI 1 bash -c 'mpirun -np 2 bash -c "echo \$\$ >$out/pid.\$OMPI_COMM_WORLD_RANK; exec sleep 60"; exit 0' | sed 's/"maxRestarts":3/"maxRestarts":0/')"
    pod 0; pod 1
    until_true 60 test -s "$out/pid.1" && until_true 60 test -s "$out/pid.0" || return 1
    kill -9 "$(orted_above "$(cat "$out/pid.1")")"
    all_end
    [ "$codes" = " 1 0" ] && said .message | grep -qE '^worker [01], rank [01]( ended with exit code (137|143)|: spec.command ended with 0, but [12] of the 2 ranks)'
}
orted_above() { # PID of a rank: its daemon
    local at=$1
    while [ "$at" -gt 1 ] && [ "$(cat "/proc/$at/comm")" != orted ]; do at=$(awk '/^PPid/ { print $2 }' "/proc/$at/status"); done
    echo "$at"
}
[ -z "$mpi" ] || check "the daemon of another pod is killed, and the script hides it" shot
show
# Rank 0 is in pod 1, whose connection to the hub is cut again and again, and no one asks for progress. Its lines come
# out of mpirun, too.
reports() {
    local wanted ways i
    # shellcheck disable=SC2016
    job reports 2 "$(metrics "$(spec_of 2 MPI 1 mpirun -host 10.77.0.2 -np 1 bash -c 'for i in $(seq 10); do seq -f "loss: %.0f" $((1000 * i - 999)) $((1000 * i)); echo >$out/said-$i; until [ $i -gt 6 ] || [ -e $out/cut-$i ]; do sleep 0.02; done; done')" '{"objective":"loss","goal":"Minimize"}')"
    nsenter --net="/run/netns/$net_prefix-2" python3 tests/e2e/train/cutter.py 10.77.0.2:9443 10.77.0.1:8443 2>"$out/cutter" &
    pid[cutter]=$!
    until_true 60 net_run 2 bash -c ': </dev/tcp/10.77.0.2/9443' 2>/dev/null
    pod 0; hub_port=9443 hub_ip=10.77.0.2 pod 1
    for i in 1 2 3 4 5 6; do # the following lines are printed while the connection is cut
        until_true 60 test -e "$out/said-$i"
        ways=$(grep -c 'connected to the hub' "$out/pod-1-1.log")
        kill -USR1 "${pid[cutter]}"
        echo >"$out/cut-$i"
        until_true 60 is_connected_again "$ways"
    done
    all_end
    kill "${pid[cutter]}"
    unset "pid[cutter]"
    wanted=$(awk 'BEGIN { for (k = 1; k <= 16; k++) printf "%d::1:%.9g ", k, (k + 1) / 2; for (a = 4; a <= 512; a *= 2) for (k = 5 * a; k <= 8 * a; k += a) printf "%d::1:%.9g ", k, (k + 1) / 2 }')
    [ "$codes" = " 0 0" ] && [ "$(said '.objective | "\(.reports) \(.last) \(.best) \(.mean)"')" = "10000 10000 1 5000.5" ] &&
        [ "$(said .objective.at) " = "$wanted" ] && [ "$(grep -c 'connected to the hub' "$out/pod-1-1.log")" -ge 7 ]
}
is_connected_again() { [ "$(grep -c 'connected to the hub' "$out/pod-1-1.log")" -gt "$1" ]; }
[ -z "$mpi" ] || check "10,000 reports as fast as they can be said, the link cut meanwhile: none is lost" reports
show
# Eight pods start at different moments: mpirun is called once, when all are present.
late_hello() { # MILLISECONDS: at most
    local i at pause last=0 wanted=
    rm -rf "$out"
    mkdir -p "$out"
    while read -r at i; do
        printf -v pause '%d.%03d' $(((10#$at - last) / 1000)) $(((10#$at - last) % 1000))
        last=$((10#$at))
        sleep "$pause"
        pod "$i"
    done <<<"$(for i in "${!moments[@]}"; do printf '%05d %d\n' $((moments[i] % $1)) "$i"; done | sort)"
    all_end
    for i in 0 1 2 3 4 5 6 7; do wanted="$wanted rank $i of 8 in pod $i: 28 (null)"; done
    [ "$codes" = " 0 0 0 0 0 0 0 0" ] && [ "$(cat "$out/called")" = once ] && [ " $(grep '^rank' "$out/pod-0-1.out" | sort | xargs)" = "$wanted" ] &&
        [ "$(said .restarts.counted)$(said .restarts.disrupted)" = 00 ]
}
hellos() {
    local most=2000 rounds=1 round patience=120
    [ -z "${SOAK_ROUNDS:-}" ] || { most=20000; rounds=$((SOAK_ROUNDS / 100 + 1)); }
    # shellcheck disable=SC2016
    base=9 job hello 8 "$(spec_of 8 MPI 1 bash -c 'echo once >>$out/called; exec mpirun -np 8 "$@"' bash "$work/sum")"
    for round in $(seq "$rounds"); do
        moments=($RANDOM $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM)
        check "mpirun over eight pods that come within $((most / 1000)) s, $round" late_hello "$most"
        show
    done
}
base=9
[ -z "$mpi" ] || hellos
base=0
hydra=
if mpicc.mpich -o "$work/sum-mpich" tests/e2e/train/sum.c 2>/dev/null; then hydra=1; else echo "skip MPICH: it is not here"; fi
mpich_job() {
    local one patience=20
    # shellcheck disable=SC2016
    one=$(spec_of 3 MPI 2 bash -c 'exec mpiexec.hydra -np 6 "$@"' bash "$work/sum-mpich")
    job mpich 3 "${one%\}},\"secrets\":[\"HUSH\"]$logs"
    extra=(HUSH=quiet)
    pod 2; pod 1; pod 0
    extra=()
    ends 0
    [ "$code" != 99 ] || kill -9 "${pid[mpich-1-1]}" "${pid[mpich-2-1]}"
    codes=" $code"
    for i in 1 2; do ends $i; codes="$codes $code"; done
}
# (Debian's MPICH alone hangs in MPI_Finalize, one rank in ucp_worker_progress, the ranks it waits for in PMI's
# barrier; sum.c makes that rare. So a job that hangs gets two more tries, and one that fails gets none.)
mpich_sums() {
    local _
    for _ in 1 2 3; do
        rm -rf "$work/mpich"
        mpich_job
        [[ $codes == " 99 "* ]] || break
    done
    [ "$codes" = " 0 0 0" ] && [ "$(proof)" = "Proxies 3" ] && [ "$(sort "$out/pod-0-1.out")" = "$(for i in 0 1 2 3 4 5; do echo "rank $i of 6 in pod $((i / 2)): 15 quiet"; done)" ]
}
[ -z "$hydra" ] || check "MPICH's mpiexec over three pods, ranks with their secret" mpich_sums
show
no_host() { WINDLASS_SOCKET=$work/none "$out/pod-0-1/bin/ssh" 10.0.0.1 true 2>"$work/err"; [ $? -eq 255 ] && grep -q 'agent of this pod' "$work/err"; }
[ -z "$mpi" ] || check "ssh without an agent says so" no_host

##### what starts anew ############################################################################
# shellcheck disable=SC2016
job again 3 "$(spec_of 3 None 1 bash -c 'echo $WINDLASS_ROUND >>$out/rounds.$WINDLASS_RANK; [ $WINDLASS_RANK != 1 ] || [ -e $out/failed ] || { touch $out/failed; kill -9 $BASHPID; }; sleep 1')"
for i in 0 1 2; do pod $i; done
all_end
again() {
    [ "$codes" = " 0 0 0" ] && [ "$(said .restarts.counted)" = 1 ] && [ "$(said .restarts.last.exitCode)" = 137 ] &&
        [ "$(said .restarts.last.message)" = "worker 1, rank 1 ended with exit code 137 (128 + signal 9: killed)" ] &&
        for i in 0 1 2; do [ "$(cat "$out/rounds.$i" | xargs)" = "1048577 1048578" ] || return 1; done
}
check "kill -9 of a rank: all start again in the same pods, and it is counted" again
show

# shellcheck disable=SC2016
waits=$(spec_of 3 None 1 bash -c '[ $WINDLASS_RANK != 2 ] || { ssh 10.77.0.2 echo $'"'\377'"'; echo $?; } >$out/bytes 2>&1; echo $WINDLASS_ROUND $BASHPID >>$out/starts.$WINDLASS_RANK; for i in $(seq 3000); do [ ! -e $out/end ] || exit 0; sleep 0.1; done; exit 9')
job pods 3 "$waits"
for i in 0 1 2; do pod $i; done
has_started() { local i; for i in 0 1 2; do [ "$(lines "$out/starts.$i")" -ge "$1" ] || return 1; done; }
alive() { for i in "$@"; do kill -0 "$i" 2>/dev/null && return 0; done; return 1; }
check "three pods run" until_true 60 has_started 1
no_utf8() { [ "$(xargs <"$out/bytes")" = "10.77.0.2: the command is not started: byte 6 is not UTF-8 255" ]; }
check "a command that is not UTF-8 is refused, and nothing runs instead" no_utf8
first=$(cut -d' ' -f2 "$out/starts.1")
answers() { env -i WINDLASS_FOLDER="$out/pod-$1-1" "$build/windlass-shim" alive 2>"$work/err"; }
both_answer() { answers 0 && answers 1; }
check "alive: the agents answer" both_answer
kill -STOP "${pid[pods-1-1]}"
hangs() { answers 1; [ $? -eq 1 ] && grep -q 'does not answer' "$work/err"; }
check "a suspended agent does not" hangs
kill -CONT "${pid[pods-1-1]}"
check "and answers again" until_true 60 answers 1
kill -9 "${pid[pods-1-1]}"
unset "pid[pods-1-1]"
gone() { ! alive "$first"; }
check "kill -9 of a pod's agent: its rank dies with it" until_true 60 gone
pod 1 2
check "its successor comes, all start again" until_true 60 has_started 2
disrupted() { [ "$(progress | jq -c '[.restarts.counted, .restarts.disrupted, .restarts.last.cause]')" = '[0,1,"Disruption"]' ]; }
check "that is not counted" disrupted
kill -9 "${pid[pods-1-2]}"
unset "pid[pods-1-2]"
extra=(WINDLASS_BEFORE=OutOfMemory)
pod 1 3
extra=()
check "it is killed, too" until_true 60 has_started 3
of_memory() { [ "$(progress | jq -c '.restarts | [.counted, .disrupted, .last.cause, .last.message]')" = '[1,1,"Memory","worker 1: the kernel killed it because it ran out of memory (/dev/shm counts): raise spec.resources.limits.memory"]' ]; }
check "a pod that was OOM-killed as a whole: its successor reports it, and it counts" of_memory
kill -TERM "${pid[pods-2-1]}"
ends 2
check "a pod that receives SIGTERM ends with 130" [ "$code" = 130 ]
pod 2 2
check "and has a successor" until_true 60 has_started 4
kill -9 "${pid[pods-0-1]}"
unset "pid[pods-0-1]"
counts=(WINDLASS_RESTARTS=1 WINDLASS_DISRUPTED=2)
pod 0 2
counts=()
check "member 0's pod replaced: the others stop and come to it" until_true 60 has_started 5
rounds() { [ "$(cut -d' ' -f1 "$out/starts.2" | xargs)" = "1048577 1048578 1048579 1048580 2097153" ]; }
check "rounds only grow" rounds
still() { has_started 5 && ! has_started 6 && [ "$(progress | jq -r '.state')" = Running ]; }
cut_short() { # MACHINE
    sleep $((RANDOM % 3)).$((RANDOM % 10))
    net_cut "$1"; sleep 5; net_mend "$1"
    sleep 1
    still
}
check "a cut of 5 s: nothing starts again" cut_short 3
for round in $(seq $((${SOAK_ROUNDS:-0} / 100))); do
    check "a cut of 5 s, $round" cut_short $((RANDOM % 3 + 1))
done
touch "$out/end"
ends 0 2; zero=$code; ends 1 3; one=$code; ends 2 2
check "and the job ends well" [ "$zero $one $code" = "0 0 0" ]
show

##### two that do not reach each other, on ########################################################
base=6 job_name=walled workers=3 out=$work/walled
is_walled() { progress | jq -r '"\(.state) \(.restarts.last.cause) \(.message)"' | grep -qE '^Preparing Lost worker 1: pod walled-1-1 cannot reach pod walled-2-1 at 10.77.0.9:[0-9]+: connect: Permission denied; .*NetworkPolicy'; }
check "a pod that cannot reach its neighbour is reported before the start, with both names" until_true 60 is_walled
none_ran() { [ ! -e "$out/starts" ]; }
check "and nothing has started" none_ran
ip -n "$net_prefix-8" route del prohibit 10.77.0.9/32
all_end
walled() { [ "$codes" = " 0 0 0" ] && [ "$(sort "$out/starts" | xargs)" = "0 1 2" ] && [ "$(said .restarts.counted)" = 0 ]; }
check "when it can, all start" walled
show

##### cut for ever, on ############################################################################
base=4 job_name=forever workers=2 out=$work/forever spec=$forever
is_lost() { [ "$(progress | jq -c '[.lost, .restarts.last.cause, .state]')" = '[["forever-1-1"],"Lost","Restarting"]' ]; }
fenced() { ! alive "$old"; }
is_replaced() {
    check "a pod that stays cut off is lost" until_true 60 is_lost
    pod 1 2 4 # on another machine
    check "its successor starts a new round" until_true 60 both_run 4
    old=$(awk '$3 == 1 { print $4; exit }' "$out/starts")
    [ -z "${SOAK_ROUNDS:-}" ] || check "the old one has ended what it ran, by itself" until_true $((cut_at + 60 > SECONDS ? cut_at + 60 - SECONDS : 1)) fenced
    touch "$out/end"
    ends 0; zero=$code; ends 1 2
    check "and the job ends well" [ "$zero $code" = "0 0" ]
    show
}
is_replaced
for round in $(seq $((${SOAK_ROUNDS:-0} / 100))); do
    kill -9 "${pid[forever-1-1]}"
    net_mend 6
    rm -rf "$out"
    job forever 2 "$forever"
    pod 0; pod 1
    check "two pods run, $round" until_true 60 both_run
    sleep $((RANDOM % 3)).$((RANDOM % 10))
    net_cut 6
    cut_at=$SECONDS
    is_replaced
done
exit $((failures > 0))
