#!/usr/bin/env bash
# build/windlass-shim, which runs in containers of users' images: it is static; in a root folder with
# only itself and a static program it runs a job, on a folder and over az:// by name, and opens no file of the
# machine (strace); the user's program cannot read its secrets; `windlass-agent install` brings it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
build=$(realpath "${BUILD:-build}")
shim=$build/windlass-shim agent=$build/windlass-agent
work=$(mktemp -d)
azurite=$work/azurite root=$work/root
declare -A pid=()
finish() {
    kill -9 "${pid[@]}" 2>/dev/null
    wait 2>/dev/null
    tests/azurite/start.sh stop "$azurite"
    rm -rf "$work"
}
trap finish EXIT

##### what it is ##################################################################################
says() { grep -qF -- "$1" <("${@:2}" 2>&1); }
check "it is static and position-independent" says "static-pie linked" file "$shim"
check "it wants no library" says "statically linked" ldd "$shim"
no_loader() { ! readelf -lW "$shim" | grep -q INTERP && ! readelf -dW "$shim" | grep -q NEEDED; }
check "and no loader" no_loader
defined() { nm "$shim" >"$work/names" && ! grep -E '^ +U ' "$work/names"; }
check "every name that it refers to is in it, but for weak ones" defined
small() { strip -o "$work/stripped" "$shim" && [ "$(stat -c %s "$work/stripped")" -lt 10000000 ]; }
check "it has less than 10 MB" small
check "it says what it is" [ "$("$shim" --version)" = "$("$agent" --version | sed s/agent/shim/)" ]
no_command() { "$shim" coordinate >/dev/null 2>"$work/err"; [ $? -eq 2 ] && grep -q 'coordinate: unknown command' "$work/err"; }
check "it coordinates nothing" no_command
no_job() { env -i "$shim" score 2>"$work/err"; [ $? -eq 2 ] && grep -q '^windlass-shim score: .*WINDLASS_' "$work/err"; }
check "without a job it says what is missing" no_job

##### install #####################################################################################
mkdir -p "$root/windlass" "$root/bin" "$root/data/in/deep" "$root/proc" "$root/dev"
install() { "$agent" install "$root/windlass" && [ "$(stat -c %a "$root/windlass/windlass-shim" "$root/windlass/ca.crt" | xargs)" = "755 644" ]; }
check "windlass-agent install" install
check "twice" install
check "the shim is what was built" cmp "$shim" "$root/windlass/windlass-shim"
check "and the authorities are this machine's" cmp /etc/ssl/certs/ca-certificates.crt "$root/windlass/ca.crt"
no_folder() { "$agent" install "$work/none" 2>"$work/err"; [ $? -ne 0 ] && grep -q "$work/none" "$work/err"; }
check "a folder that is not there is named" no_folder
if [ "$(id -u)" != 0 ]; then echo "skip the shim in an empty root: chroot needs root"; exit $((failures > 0)); fi

##### jobs ########################################################################################
mknod -m 666 "$root/dev/urandom" c 1 9 || exit 3
gcc -std=gnu17 -O1 -static -o "$root/bin/sizes" tests/e2e/score/sizes.c || exit 3
make_certificate "$work" || exit 3
for i in 0 1 2 3 4 5 6 7 8; do head -c $((i * 7 + 1)) /dev/zero >"$root/data/in/f$i"; done
head -c 99 /dev/zero >"$root/data/in/deep/z"
chmod 755 "$work"
chown -R 65532:65532 "$root/data"
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
port=$(first_port)
unprivileged=(setpriv --reuid=65532 --regid=65532 --clear-groups)
more=() # environment for both roles
# pod NAME DATA COMMAND...
pod() {
    env -i PATH="$PATH" data="$2" WINDLASS_JOB=shim WINDLASS_RUN=0123456789abcdef WINDLASS_UID=u WINDLASS_SPEC="$(batchscore_spec "$spec")" \
        WINDLASS_TOKEN="$token" WINDLASS_WORKER="$1" WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" \
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_BIND="127.0.0.1:$port" \
        WINDLASS_COORDINATOR="127.0.0.1:$port" WINDLASS_COORDINATOR_SHA256="$sha256" "${more[@]}" "${@:3}" 2>"$work/$1.log" &
    pid[$1]=$!
}
ends() { # NAME: its exit code is in $code
    local end=$((SECONDS + 60))
    while kill -0 "${pid[$1]}" 2>/dev/null && [ $SECONDS -lt $end ]; do nap 0.05; done
    code=99
    if kill -0 "${pid[$1]}" 2>/dev/null; then kill -9 "${pid[$1]}"; else wait "${pid[$1]}"; code=$?; fi
    unset "pid[$1]"
}
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -n 8 "$work"/{coordinator,worker}.log | sed 's/^/# /'
}
# job NAME COMMAND...: the worker is the command; the coordinator the agent.
job() {
    port=$((port + 1))
    pod coordinator "$root/data" "${coordinator[@]}" "${unprivileged[@]}" "$agent" coordinate
    pod worker "${worker_data:-/data}" "${@:2}"
    ends coordinator
    check "$1: the job succeeds" [ $code -eq 0 ]
    ends worker
    check "$1: and its worker (a call of a name that is not in the shim ends it)" [ $code -eq 0 ]
    show
}
coordinator=()
spec_of() { # OUTPUT PROGRAM...
    jq -cn '{input: {files: {path: "data/in"}}, miniBatchSize: 2, scorer: {command: {command: $ARGS.positional[1:]}},
        output: {path: $ARGS.positional[0], mode: "AppendRow", appendRowFileName: "rows.txt"},
        retry: {maxTries: 1, timeoutSeconds: 20}}' --args "$@"
}
# In the root, with /proc and /dev/urandom as in containers: all calls of the shim and its program on files and the
# network are in $work/trace.
# shellcheck disable=SC2016 # for the inner shell
in_root() {
    job "$1" unshare -m sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' sh "$root" \
        strace -f -qq -o "$work/trace" -e trace=%file,connect \
        chroot --userspec=65532:65532 "$root" /windlass/windlass-shim score
}
of_shim() { sed -n '/execve("\/windlass\/windlass-shim"/,$p' "$work/trace"; }
# Prints the absolute paths that it touched and that match none of the patterns. (libwebsockets reads the local time; the
# termination message is where containers have it.)
touched() {
    of_shim | grep -v ' connect(' | grep -oE '"/[^"]*"' | tr -d '"' | sort -u |
        grep -vE "^/(windlass/(windlass-shim|python/windlass.py)|bin/sizes|(data|proc)(/.*)?|dev/(urandom|termination-log)|etc/localtime${1:+|$1})\$"
}
nothing_else() { local seen; seen=$(touched "${1:-}"); [ -z "$seen" ] || { sed 's/^/# touched: /' <<<"$seen"; return 1; }; }
# The addresses that it connects to.
peers() { of_shim | grep -F ' connect(' | grep -oE 'AF_[A-Z0-9]+|htons\([0-9]+\)|inet_addr\("[^"]*"\)' | paste -sd' ' | sed 's/ AF_/\nAF_/g' | sort -u; }
wanted='99'
for i in 0 1 2 3 4 5 6 7 8; do wanted+=$'\n'$((i * 7 + 1)); done

spec=$(spec_of data/out /bin/sizes)
in_root "an empty root"
check "an empty root: the rows are right" diff "$root/data/out/rows.txt" <(echo "$wanted")
check "an empty root: it was traced" grep -q '"/data/in/deep/z"' "$work/trace"
check "an empty root: no file is touched but the job's" nothing_else
only_coordinator() { [ "$(peers)" = "AF_INET htons($port) inet_addr(\"127.0.0.1\")" ] || { peers | sed 's/^/# /'; return 1; }; }
check "an empty root: the coordinator gets the only requests" only_coordinator

##### secrets #####################################################################################
cp tests/e2e/score/spy.py "$root/data/"
worker_data=$root/data
spec=$(spec_of data/seen python3 "$root/data/spy.py")
job "a program that spies on the shim" "${unprivileged[@]}" "$shim" score
seen() { jq -r "$1" "$root/data/$2/rows.txt" | sort -u | xargs; }
check "its environment and memory are closed" [ "$(seen '.environ, .maps' seen)" = "Permission denied" ]
check "its arguments are the command" [ "$(jq -r '.arguments' "$root/data/seen/rows.txt" | tr '\0' ' ' | sort -u | head -1)" = "$shim score " ]
check "the program has no variables of ours but four" [ "$(seen '.variables | keys[] | select(startswith("WINDLASS_"))' seen)" = \
    "WINDLASS_JOB WINDLASS_LIFE WINDLASS_SLOT WINDLASS_WORKER" ]
check "nor OPENSSL_CONF" [ "$(seen '.variables.OPENSSL_CONF' seen)" = null ]
check "the token is in no row, log or object" eval '! grep -rqF "$token" "$root/data" "$work"/*.log'
# As under `windlass run`, where the agent is the worker.
spec=$(spec_of data/agent python3 "$root/data/spy.py")
job "the same program and windlass-agent" "${unprivileged[@]}" "$agent" score
check "windlass-agent's environment and memory are closed, too" [ "$(seen '.environ, .maps' agent)" = "Permission denied" ]
# shellcheck disable=SC2016 # for the inner shell
open_parent() { printf '%s\n' '{"init": {}}' '{"id": 1, "items": [1]}' | "${unprivileged[@]}" sh -c 'python3 "$1"; true' sh "$root/data/spy.py" | jq -r '.results // [] | .[].environ'; }
check "it would have found what is not closed" [ "$(open_parent)" = read ]
unset worker_data

##### az:// by name ###############################################################################
variables=$(tests/azurite/start.sh start "$azurite" $$) || { echo "not ok azurite starts"; exit 1; }
python3 tests/azurite/names.py "$azurite" &
pid[names]=$!
until_true 60 [ -s "$azurite/names.port" ]
more=(WINDLASS_BLOB_ENDPOINT="https://ACCOUNT.blob.windlass.test:$(cat "$azurite/port")"
    WINDLASS_NAME_SERVERS="127.0.0.1:$(cat "$azurite/names.port")")
coordinator=(env "$(grep WINDLASS_STORES_FOLDER <<<"$variables")" WINDLASS_AUTHORITIES="$azurite/ca.crt")
chmod -R a+rX "$azurite"
# Their paths in a pod.
cp "$azurite/ca.crt" "$root/windlass/ca.crt"
cp -r "$azurite/stores" "$root/windlass/"
# (The program's output is kept there.)
spec=$(spec_of data/out2 /bin/sizes | jq -c '.logs.path = "az://results/tests/logs"')
in_root "az://"
key=$(cat "$azurite/stores/results/azurestorageaccountkey")
az() { env $variables build/tests/azurite/store "$@"; }
make -s CC="${CC:-gcc}" build/tests/azurite/store >/dev/null || exit 3
log() { az list az://results/tests/logs | while read -r name _; do az get az://results/tests/logs "$name"; done; }
check "az://: what the program said is there" eval '[ "$(log | grep -c "done with")" = 5 ]'
check "az://: no library, no names of users or hosts but c-ares' own" nothing_else \
    'windlass/(ca.crt|stores/results/.*)|etc/(resolv.conf|hosts|host.conf|nsswitch.conf|svc.conf)'
check "az://: the name server was asked" grep -qF "htons($(cat "$azurite/names.port"))" "$work/trace"
check "az://: no other socket, as of a daemon for names" eval '! peers | grep -v AF_INET'
check "az://: the key is in no log" eval '! grep -qF "$key" "$work"/*.log'
exit $((failures > 0))
