# shellcheck shell=bash disable=SC2034
# lib.sh: functions shared by the scripts of the test clusters; sourced.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass
bin=$cache/bin # build-kubernetes.sh and get-clients.sh fill it
script=${0##*/}

fail() { echo "$script: $1" >&2; exit 3; }
say() { printf '%4ds %s\n' "$SECONDS" "$*" >&2; }

# Installs the missing packages in one go; makes no request to the network when none is missing.
need_packages() {
    local package missing=
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=" $package"
    done
    [ -n "$missing" ] || return 0
    say "installing:$missing"
    # shellcheck disable=SC2086 # the list is split into words
    "$(dirname "${BASH_SOURCE[0]}")/../../images/apt-install.sh" $missing || exit 3
}

# A free port, below the range of ephemeral ports: one that no socket has, and that was not given
# in the last hour, since its server may still be starting.
free_port() {
    local port given=${TMPDIR:-/tmp}/windlass-ports.$UID
    mkdir -p "$given"
    find "$given" -mindepth 1 -mmin +60 -delete 2>/dev/null
    for _ in $(seq 100); do
        port=$((15000 + (RANDOM * 32768 + RANDOM) % 15000))
        ! grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X $port) " /proc/net/tcp /proc/net/tcp6 2>/dev/null || continue
        mkdir "$given/$port" 2>/dev/null || continue
        echo "$port"
        return
    done
    return 1
}

# Makes certificates in the working folder: ca.crt and ca.key, and NAME.crt and NAME.key signed by it.
# The names of a server are always in subjectAltName: Go looks nowhere else.
authority() {
    [ -f ca.crt ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 3650 \
        -subj "/CN=$1" -keyout ca.key -out ca.crt 2>/dev/null
}
certificate() { # NAME SUBJECT [SUBJECTALTNAME]
    [ -f "$1.crt" ] && return
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -subj "$2" \
        -keyout "$1.key" -out "$1.csr" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -sha256 -out "$1.crt" \
        -extfile <(printf 'keyUsage=digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth,clientAuth\n%s\n' \
            "${3:+subjectAltName=$3}") 2>/dev/null
}
service_account_key() {
    [ -f sa.key ] && return
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out sa.key 2>/dev/null # (RSA takes a second)
    openssl pkey -in sa.key -pubout -out sa.pub 2>/dev/null
}
kubeconfig() { # SERVER CERTIFICATES' FOLDER NAME
    cat <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: windlass-test, cluster: {server: "$1", certificate-authority: "$2/ca.crt"}}]
users: [{name: "$3", user: {client-certificate: "$2/$3.crt", client-key: "$2/$3.key"}}]
contexts: [{name: windlass-test, context: {cluster: windlass-test, user: "$3"}}]
current-context: windlass-test
CONFIG
}

# Processes of the cluster in $folder: launch NAME COMMAND..., running NAME, finish NAME [SIGNAL [SECONDS]].
# The mark in the environment distinguishes our process from another one with a reused id; a zombie has no mark.
running() {
    local pid
    pid=$(cat "$folder/pids/$1.pid" 2>/dev/null) || return
    tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "WINDLASS_CLUSTER=$folder"
} 2>/dev/null
launch() {
    local name=$1
    shift
    mkdir -p "$folder/pids" "$folder/log"
    (
        # A lock or a pipe that this process inherits would stay open as long as the cluster runs.
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
        done
        setsid env WINDLASS_CLUSTER="$folder" "$@" >>"$folder/log/$name.log" 2>&1 </dev/null &
        echo $! >"$folder/pids/$name.pid"
    )
    # (On a busy machine it takes a while until it has its environment.)
    for _ in $(seq 3000); do
        running "$name" && return
        kill -0 "$(cat "$folder/pids/$name.pid")" 2>/dev/null || return 0
        sleep 0.01
    done
}
finish() {
    local pid
    pid=$(cat "$folder/pids/$1.pid" 2>/dev/null) || return 0
    if running "$1"; then
        kill "-${2:-TERM}" "$pid"
        for _ in $(seq $((${3:-10} * 20))); do running "$1" || break; sleep 0.05; done
        if running "$1"; then kill -9 "$pid"; fi
    fi
    rm -f "$folder/pids/$1.pid"
}
# end_with PID: when that process has ended, all processes of $folder end, even if the folder is gone by then. The
# watcher has a separate session: a signal to the script's process group must not end it first.
end_with() {
    # shellcheck disable=SC2016 # that shell expands it
    setsid bash -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done
        for file in $(grep -lszxF "WINDLASS_CLUSTER=$2" /proc/[0-9]*/environ); do
            pid=${file#/proc/}
            kill -9 "${pid%/environ}"
        done' _ "$1" "$folder" >/dev/null 2>&1 </dev/null &
}
# wait_for SECONDS NAME COMMAND...: waits until it succeeds, unless the process ends or time runs out. Each look takes some
# hundredths of a second of a processor, which the process needs for its start: they are at most four a second.
wait_for() {
    local end=$((SECONDS + $1)) name=$2 pause=5
    shift 2
    until "$@" >/dev/null 2>&1; do
        running "$name" || { echo "$script: $name ended: $(tail -n 1 "$folder/log/$name.log")" >&2; return 3; }
        [ $SECONDS -lt $end ] || { echo "$script: $name is not ready in time; see $folder/log/$name.log" >&2; return 3; }
        sleep "0.$(printf %02d $pause)"
        pause=$((pause < 25 ? pause + 5 : 25))
    done
}
