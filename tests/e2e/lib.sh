# lib.sh: functions shared by the end-to-end scripts. `check "name" COMMAND...` prints ok or not ok.
. tests/e2e/python.sh
failures=0
check() {
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; failures=$((failures + 1)); fi
}
# built TARGET...: `make -s` of them. Not when `make test` has just made them all in this folder (WINDLASS_BUILT): each start
# of make reads thousands of lists of headers.
built() {
    local each missing=
    for each in "$@"; do [ -e "$each" ] || missing=yes; done
    [ -z "$missing" ] && [ "${WINDLASS_BUILT:-}" = "$(realpath "${BUILD:-build}")" ] || make -s "$@"
}
# sampled PART: whether the next of many cases is run: one of PART, others on each day (or those of SOAK_SEED); in a
# soak and for SAMPLE_SEED=all all.
sampled_at=0
sampled() {
    local at=$((sampled_at + ${SOAK_SEED:-$((EPOCHSECONDS / 86400))}))
    sampled_at=$((sampled_at + 1))
    [ -n "${SOAK_ROUNDS:-}" ] || [ "${SAMPLE_SEED:-}" = all ] || [ $((at % $1)) -eq 0 ]
}
# draw WHAT COUNT CASE...: of cases that prove the same, COUNT neighbours are run, which the commit chooses (SAMPLE_SEED: a
# number in place of its hash), and WHAT: other draws of one commit go elsewhere. They are printed. All, and nothing is printed,
# in a soak and for SAMPLE_SEED=all (tests/mutants). `is_drawn CASE` then asks for one.
e2e_tree=$PWD
draw() {
    local what=$1 count=$2 seed=${SAMPLE_SEED:-} at i
    shift 2
    drawn=("$@")
    [ -z "${SOAK_ROUNDS:-}" ] && [ "$seed" != all ] && [ "$count" -lt $# ] || return 0
    : "${seed:=$((16#$(git -C "$e2e_tree" rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}"
    at=$(md5sum <<<"$what $seed") at=$((16#${at:0:7})) drawn=()
    for ((i = 0; i < count; i++)); do drawn+=("${@:(at + i) % $# + 1:1}"); done
    echo "# $what: ${drawn[*]} ($count of $#, SAMPLE_SEED=$seed)"
}
is_drawn() {
    local each
    for each in "${drawn[@]}"; do [ "$each" != "$1" ] || return 0; done
    return 1
}
# side_by_side FUNCTION...: runs all at the same time, each in a subshell; prints their output in their order, and
# counts their failures. (Functions see its variables, so they have names that no script has.)
side_by_side() {
    local side_name side_folder side_pids=()
    side_folder=$(mktemp -d)
    for side_name in "$@"; do
        (
            failures=0
            "$side_name"
            echo "$failures" >"$side_folder/$side_name.failures"
        ) >"$side_folder/$side_name" 2>&1 </dev/null &
        side_pids+=($!)
    done
    wait "${side_pids[@]}"
    for side_name in "$@"; do
        cat "$side_folder/$side_name"
        [ -s "$side_folder/$side_name.failures" ] || echo "not ok $side_name came to its end"
        failures=$((failures + $(cat "$side_folder/$side_name.failures" 2>/dev/null || echo 1)))
    done
    rm -rf "$side_folder"
}
# Waits for SECONDS without a process of its own, which a `sleep` is (the pipe never has anything to read,
# so each read ends by its time, and says so by its exit code).
exec {silent_pipe}<> <(:)
nap() { read -rt "$1" -u "$silent_pipe" || :; }
# nap_since MICROSECONDS-OF-THE-START [MILLISECONDS]: between two looks: at least so long (50), and a tenth of what has been
# waited for, up to half a second. A look may cost a hundredth of a second of a processor, or a tenth.
nap_since() {
    local wait=$(((${EPOCHREALTIME/[.,]/} - $1) / 10000)) text
    [ "$wait" -le 500 ] || wait=500
    [ "$wait" -ge "${2:-50}" ] || wait=${2:-50}
    printf -v text '%d.%03d' $((wait / 1000)) $((wait % 1000))
    nap "$text"
}
# until_true SECONDS COMMAND...: waits until it succeeds, and looks after $look_every milliseconds and then more seldom
# (nap_since); 1, and the log says so: it does not within that time.
look_every=50
until_true() {
    local start=${EPOCHREALTIME/[.,]/} end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "# not in time: $*" >&2; return 1; }
        nap_since "$start" "$look_every"
    done
}
# established KUBECTL DEFINITION...: their kinds are served. `kubectl wait` alone ends with an error when a definition is so
# young that it has no conditions.
established() { until_true 120 "$1" wait --for=condition=Established --timeout=60s "${@:2}" >/dev/null; }
# until_true_while PID SECONDS COMMAND...: the same; also 1 when that process ends before.
until_true_while() {
    local start=${EPOCHREALTIME/[.,]/} alive=$1 end=$((SECONDS + $2))
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] && kill -0 "$alive" 2>/dev/null || return 1
        nap_since "$start"
    done
}
# warm_python PYTHON SCRIPT MODULE...: from then on `ask_python ARGUMENT...` is `PYTHON SCRIPT ARGUMENT... 2>&1`, one at a
# time, by a process that has imported these modules (warm.py): PyTorch alone takes a second of a processor each time.
warm_python() {
    local folder
    folder=$(mktemp -d) && mkfifo "$folder/in" "$folder/out"
    "$1" -B tests/e2e/warm.py "${@:2}" <"$folder/in" >"$folder/out" 2>&1 &
    exec {warm_in}<>"$folder/in" {warm_out}<"$folder/out" # (not >: writing to one that has ended would end this script)
    rm -r "$folder"
}
ask_python() {
    local line IFS=$'\x1f'
    printf '%s\n' "$*" >&"$warm_in"
    while IFS= read -r line <&"$warm_out"; do
        case $line in $'\x1e'*) return "${line#?}" ;; esac
        printf '%s\n' "$line"
    done
    return 1
}
# warm_program PROGRAM: from then on `ask_program ERRORS ARGUMENT...` is `PROGRAM ARGUMENT... >/dev/null 2>>ERRORS`, one at
# a time, by a process that has loaded its libraries (warm.c): for the agent most of what a small network takes.
warm_program() {
    local folder
    folder=$(mktemp -d) && mkfifo "$folder/in" "$folder/out" && gcc -shared -fPIC -o "$folder/warm.so" tests/e2e/warm.c || return
    LD_PRELOAD=$folder/warm.so "$1" <"$folder/in" >"$folder/out" &
    exec {warm_in}<>"$folder/in" {warm_out}<"$folder/out" # (not >: writing to one that has ended would end this script)
    ask_program /dev/null # it is loaded
    rm -r "$folder"
}
ask_program() {
    local code=1 IFS=$'\x1f'
    printf '%s\n' "$*" >&"$warm_in"
    read -r code <&"$warm_out"
    return "$code"
}
# warm_kubectl FOLDER KUBECTL: from then on `ask_kubectl ARGUMENT...` is `KUBECTL ARGUMENT...` for FOLDER/kubeconfig, whose
# usual requests a process sends that stays (cluster/warm_kubectl.py); for all others it starts KUBECTL, which takes a tenth
# of a second of a processor or more. (It is a function: what is to be killed is started as KUBECTL.)
warm_kubectl() {
    warm_folder=$1 real_kubectl=$2
    python3 -B tests/e2e/cluster/warm_kubectl.py "$1" &
    until [ -s "$1/warm-port" ]; do kill -0 $! && nap 0.02 || return; done
}
ask_kubectl() {
    local code size text='' connection
    case " $* " in *" -f - "*) text=$(</dev/stdin) ;; esac
    exec {connection}<>"/dev/tcp/127.0.0.1/$(<"$warm_folder/warm-port")"
    printf '%s\0' $# "$@" "$text" >&"$connection"
    read -r code size <&"$connection"
    case $code$size in
    kubectl*)
        exec {connection}>&-
        "$real_kubectl" "$@" <<<"$text"
        return
        ;;
    *long) cat <&"$connection" >&$((code + 1)) ;;
    *) IFS= read -r -d '' text <&"$connection" || printf '%s' "$text" >&$((code + 1)) ;;
    esac
    exec {connection}>&-
    return "$code"
}
# rest_library FOLDER: makes FOLDER/rest.so, with which ranks sleep while they wait for others (rest.c).
rest_library() { gcc -shared -fPIC -o "$1/rest.so" tests/e2e/rest.c; }
# resting_ranks FOLDER: makes a windlass there whose trainers do.
resting_ranks() {
    local from
    from=$(realpath "${BUILD:-build}") && mkdir -p "$1" && rest_library "$1" &&
        cp "$from/windlass" "$1" && ln -s "$from/windlass-agent" "$1" || return
    printf '#!/bin/bash\nLD_PRELOAD=%q exec -a windlass-trainer %q "$@"\n' "$1/rest.so" "$from/windlass-trainer" >"$1/windlass-trainer" &&
        chmod +x "$1/windlass-trainer"
}
# Frames that a full decode delivers.
count_frames() { ffprobe -v error -select_streams v:0 -count_frames -show_entries stream=nb_read_frames -of csv=p=0 "$1" | tr -d ','; }
probe() { ffprobe -v error -select_streams "$1" -show_entries stream="$2" -of csv=p=0 "$3"; }
# One hash over the stream's packets.
packets() { ffmpeg -v error -i "$2" -map "0:$1" -c copy -f hash - 2>/dev/null; }
# Frames' times in seconds, one a line (side data brings empty lines).
times() { ffprobe -v error -select_streams "$1" -show_entries frame=best_effort_timestamp_time -of csv=p=0 "$2" | tr -d , | grep .; }
faststart() { [ "$(grep -abo moov "$1" | head -1 | cut -d: -f1)" -lt "$(grep -abo mdat "$1" | head -1 | cut -d: -f1)" ]; }
# FOLDER/key.pem and FOLDER/certificate.pem, as the operator makes them for a job; sets $sha256 to the digest.
make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
        -keyout "$1/key.pem" -out "$1/certificate.pem" 2>/dev/null || return 1
    # shellcheck disable=SC2034 # scripts use it
    sha256=$(openssl x509 -in "$1/certificate.pem" -outform der | sha256sum | cut -d' ' -f1)
}
# Every output that a script has made below $work, in its cluster or its Azurite, and that has a result.json, must hold what it says:
# when the script ends by `exit`, before its folders are removed. So must one have a result.json that says in another way that
# its job has succeeded. A script that changes an output on purpose removes it.
e2e_windlass=$(realpath "${BUILD:-build}/windlass" 2>/dev/null)
verified=0
verify_output() { # PATH NAME
    local said
    verified=$((verified + 1))
    said=$(timeout 300 "$e2e_windlass" verify "$1" 2>&1 </dev/null) || check "$2 holds what its result.json says: $said" false
}
# A BatchScore's summary.json, or the record of a gang that all its ranks have ended with 0 (agent/launch/proof/ended.h).
says_success() { jq -es 'length == 1 and (.[0] | type == "object" and (.state == "Succeeded" and .result != null or .ended != null))' >/dev/null 2>&1; }
# The last file that a gang has written into the folder .windlass: an older record is of an earlier gang.
is_newest() { [ -z "$(find "${1%/*/ended/*}" -type f -newer "$1" 2>/dev/null)" ]; }
verify_outputs() { # FOLDER
    local file output
    while IFS= read -r file; do
        case $file in
        */.windlass/*/ended/*) output=${file%/.windlass/*} && is_newest "$file" || continue ;;
        */.windlass/*) continue ;;
        *) output=${file%/*} ;;
        esac
        if [[ $file == */result.json ]]; then
            verify_output "$output" "${output#"$1"/}"
        elif [ ! -e "$output/result.json" ] && says_success <"$file"; then
            check "${output#"$1"/} has a result.json, as ${file#"$output"/} says that its job has succeeded" false
        fi
    done < <(find "$1" -type f \( -name result.json -o -name summary.json -o -path '*/.windlass/*/ended/*' \) 2>/dev/null)
}
# discard PATH...: removes them, and before that looks whether the outputs in them hold what they say.
discard() {
    local each
    for each in "$@"; do
        [ -L "$each" ] || [ ! -d "$each" ] || verify_outputs "$each"
    done
    rm -rf "$@"
}
# Those of a cluster's pods (tests/cluster/own.sh).
verify_volumes() {
    local volume
    while IFS= read -r volume; do
        verify_outputs "$volume"
    done < <(find "$volumes" -mindepth 1 -maxdepth 1 -type d -newer "$work/began" 2>/dev/null)
}
# Those in Azurite (tests/azurite), of both accounts. The script's proxy makes no more faults.
verify_blobs() {
    local account name names
    if [ -e "$work/proxy/faults" ]; then echo '[]' >"$work/proxy/faults.new" && mv "$work/proxy/faults.new" "$work/proxy/faults"; fi
    for account in films results; do
        names=$(az list $account "${place:-tests}" 2>/dev/null | grep -E '(^|/)(result|summary)\.json$' | grep -vF .windlass/)
        while IFS= read -r name; do
            if [[ $name == *result.json ]]; then
                name=${name%result.json}
                verify_output "az://$account/${place:-tests}/${name%/}" "az://$account/${name%/}"
            elif [ -n "$name" ] && ! grep -qxF "${name%summary.json}result.json" <<<"$names" &&
                says_success < <(az get $account "${place:-tests}/$name"); then
                check "az://$account/$name is beside a result.json, as its job has succeeded" false
            fi
        done <<<"$names"
    done
}
exit() {
    if [ "$BASH_SUBSHELL" -eq 0 ] && [ -d "${work:-}" ] && [ -x "$e2e_windlass" ]; then
        local before=$failures
        verify_outputs "$work"
        [ -z "${volumes:-}" ] || verify_volumes
        [ -z "${azurite:-}" ] || verify_blobs
        [ $verified -eq 0 ] || echo "# $verified outputs were verified"
        [ "$failures" -eq "$before" ] || builtin exit 1
    fi
    builtin exit "$@"
}
# The first of 16 ports for this script's servers: below those that the kernel gives to clients (32768 and up), and others
# than those of scripts that run at the same time.
first_port() { echo $((16384 + $$ % 1000 * 16)); }
