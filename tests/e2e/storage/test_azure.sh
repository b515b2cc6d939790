#!/usr/bin/env bash
# az:// against a real Azurite: access by key, SAS and workload identity, and what happens when it changes under
# way, TLS and names, a storage that refuses, loses answers and cuts connections, and that no secret is printed
# anywhere. SOAK_ROUNDS / 20 seeds against the proxy (default 3), from SOAK_SEED on.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
make -s CC="${CC:-gcc}" build/tests/azurite/store || { echo "not ok the tool that the test needs is built"; exit 1; }
tool=$PWD/build/tests/azurite/store
work=$(mktemp -d)
azurite=$work/azurite
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    tests/azurite/start.sh stop "$azurite"
    rm -rf "$work"
}
trap finish EXIT
start() {
    local variables
    variables=$(AZURITE_KEEPS=yes tests/azurite/start.sh start "$azurite" $$) || { echo "not ok azurite starts"; exit 1; }
    while read -r line; do export "${line?}"; done <<<"$variables"
}
start
here=az://films/tests/e2e
port=$(cat "$azurite/port")
beside() { # NAME COMMAND...: a server that writes its port to $azurite/NAME
    "${@:2}" >>"$work/servers.log" 2>&1 &
    pids+=($!)
    disown
    until_true 60 [ -s "$azurite/$1" ] && return
    echo "not ok $2 $3 listens"
    exit 1
}

# All output also goes to $work/said, which must have no secret at the end. $work/out, $work/err: the last command's.
store() {
    "$tool" "$@" >"$work/out" 2>"$work/err"
    local code=$?
    cat "$work/out" "$work/err" >>"$work/said"
    return $code
}
says() { # CODE TEXT store...: exits with CODE, and prints one line with TEXT
    store "${@:3}" </dev/null
    local code=$?
    [ $code -eq "$1" ] && grep -qF -- "$2" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && return
    echo "# exit code $code: $(cat "$work/err")"
    return 1
}
# holds NAME SECONDS [COMMAND]: gets it repeatedly; keeps what other users can see of the process. SECONDS "outlast": until
# COMMAND has ended, which may take the storage away meanwhile, and succeeds.
holds() {
    local pid code ended=0
    rm -f "$work/ended"
    if [ "$2" = outlast ]; then set -- "$1" "$work/ended" outlast "${@:3}"; else set -- "$1" "$2" hold "${@:3}"; fi
    "$tool" "$3" "$here" "$1" "$2" >"$work/held" 2>&1 &
    pid=$!
    sleep 0.5
    cat "/proc/$pid/cmdline" "/proc/$pid/environ" >>"$work/seen" 2>/dev/null
    shift 3
    [ $# -eq 0 ] || "$@" || ended=$?
    touch "$work/ended"
    wait $pid
    code=$?
    cat "$work/held" >>"$work/said"
    [ $code -eq 0 ] || echo "# $(cat "$work/held")"
    [ $code -ne 0 ] || return $ended
    return $code
}
secret() { printf '%s' "$2" >"$azurite/stores/$1.new" && mv "$azurite/stores/$1.new" "$azurite/stores/$1"; }
remember() { printf '%s\n' "$@" >>"$work/secrets"; }
keys() { tr ';:' '\n\n' <"$azurite/accounts" | grep ==; }
sas() { # RIGHTS SECONDS
    local text
    text=$(python3 tests/azurite/az.py "$azurite" sas films tests "$1" "$2")
    remember "$(sed 's/.*sig=//; s/&.*//' <<<"$text")" "$(sed 's/.*sig=//; s/&.*//' <<<"$text" | python3 -c \
        'import sys, urllib.parse; print(urllib.parse.unquote(sys.stdin.read().strip()))')"
    printf '%s' "$text"
}
as_key() { rm -f "$azurite/stores/films/azurestorageaccountsastoken"; secret films/azurestorageaccountkey "$(keys | head -1)"; }
as_sas() { rm -f "$azurite/stores/films/azurestorageaccountkey"; secret films/azurestorageaccountsastoken "$1"; }
mapfile -t old_keys < <(keys)
remember "${old_keys[@]}"

##### a key
round_trip() {
    echo "some bytes" | store put $here a/b && store get $here a/b && [ "$(cat "$work/out")" = "some bytes" ] &&
        store list $here a/ && [ "$(cat "$work/out")" = "a/b 11" ] && store stat $here a/b && store probe $here &&
        store remove $here a/b && says 3 "not-found: $here/a/b: the storage answered 404 BlobNotFound" get $here a/b
}
check "with a key" round_trip
wrong_key() {
    secret films/azurestorageaccountkey "$(head -c 64 /dev/urandom | base64 -w0)"
    remember "$(cat "$azurite/stores/films/azurestorageaccountkey")"
    says 3 "denied: $here: the storage answered 400 InvalidAuthenticationInfo" probe $here
}
check "a wrong key is refused" wrong_key
no_key() {
    secret films/azurestorageaccountkey "no base64, $(head -c 9 /dev/urandom | base64)"
    remember "$(cat "$azurite/stores/films/azurestorageaccountkey")"
    says 3 "/films/azurestorageaccountkey: not an account key" probe $here || return
    rm "$azurite/stores/films/azurestorageaccountkey"
    says 3 "holds neither azurestorageaccountkey nor azurestorageaccountsastoken" probe $here
}
check "an invalid key is reported with its file" no_key
as_key
check "no such container" says 3 "not-found: az://films/nowhere/x: container not found" list az://films/nowhere/x
read_only() {
    WINDLASS_STORES='[{"account":"films","readOnly":true}]' says 3 "denied: $here: this account is read-only" put $here x &&
        WINDLASS_STORES='[{"account":"films","readOnly":true}]' store list $here
}
check "readOnly" read_only
echo here | store put $here held

##### SAS
check "with a SAS" eval 'as_sas "$(sas rwdl 60)"; round_trip'
check "a SAS that may only read" eval 'as_sas "?$(sas rl 60)"; store get $here held && says 3 "denied: $here: the storage answered 403" put $here x'
check "no SAS at all" eval 'as_sas "sv=2021&x=1"; says 3 "azurestorageaccountsastoken: not a shared access signature" get $here held'
later_sas() { sleep 2; as_sas "$(sas rwdl 60)"; }
check "a SAS is replaced before it ends" eval 'as_sas "$(sas rwdl 15)"; holds held 18 later_sas'
check "a SAS has ended" eval 'as_sas "$(sas rwdl 3)"; ! holds held 6 >/dev/null && grep -q "^denied: $here/held: the storage answered 403" "$work/held"'
as_key
new_keys() {
    tests/azurite/start.sh stop "$azurite"
    rm "$azurite/accounts"
    start
}
check "keys are rotated, and the storage is gone for a while" holds held outlast new_keys
check "the keys have changed" eval '[ -n "$(keys)" ] && ! keys | grep -qF -- "${old_keys[0]}"'
mapfile -t new < <(keys)
remember "${new[@]}"

##### workload identity
echo "eyJfederated.$RANDOM.one" >"$azurite/federated"
remember "$(cat "$azurite/federated")" eyJ
beside token.port python3 tests/azurite/token.py "$azurite"
beside names.port python3 tests/azurite/names.py "$azurite"
identity=(env AZURE_TENANT_ID=t1 AZURE_FEDERATED_TOKEN_FILE="$azurite/federated"
    AZURE_AUTHORITY_HOST="https://127.0.0.1:$(cat "$azurite/token.port")/" WINDLASS_STORES='[{"account":"films","clientID":"6c3"}]')
plain_tool=$tool
as() { # VARIABLES... -- COMMAND...
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    cat >"$work/as" <<SCRIPT
#!/bin/sh
exec $(printf '%q ' "${identity[@]}" "${variables[@]}") $plain_tool "\$@"
SCRIPT
    chmod +x "$work/as"
    tool=$work/as
    "$@"
    local code=$?
    tool=$plain_tool
    return $code
}
given() { cat "$azurite/tokens" 2>/dev/null || echo 0; }
check "with a workload identity" as -- round_trip
check "of the pod, where there is no secret" eval \
    'mv "$azurite/stores/films" "$work/films"; as WINDLASS_STORES= AZURE_CLIENT_ID=6c3 -- store get $here held; code=$?; mv "$work/films" "$azurite/stores/films"; [ $code -eq 0 ]'
new_assertion() {
    echo "eyJfederated.$RANDOM.two" >"$azurite/federated"
    remember "$(cat "$azurite/federated")"
    until_true 60 three_more
}
several_tokens() {
    local before
    before=$(given)
    three_more() { [ $(($(given) - before)) -ge 3 ]; }
    echo 3 >"$azurite/lifetime"
    as -- holds held outlast new_assertion
    local code=$?
    [ $code -ne 0 ] || tail -n 1 "$work/held" | grep -q ', 0 of them not$' || code=1 # the storage was never away
    rm "$azurite/lifetime"
    return $code
}
check "tokens are fetched again before they end, with the pod's new one" several_tokens
check "one token serves many requests" eval 'before=$(given); as -- holds held 2 && [ $(($(given) - before)) -eq 1 ]'
check "the endpoint is busy" eval 'echo 2 >"$azurite/refusals"; as -- store get $here held && [ "$(cat "$azurite/refusals")" = 0 ]'
check "the endpoint stays busy" eval 'echo 9 >"$azurite/refusals"; as -- says 3 "cannot get a token for the workload identity: 503" get $here held; code=$?; rm "$azurite/refusals"; [ $code -eq 0 ]'
check "the endpoint refuses" as WINDLASS_STORES='[{"account":"films","clientID":"other"}]' -- \
    says 3 "denied: $here: cannot get a token for the workload identity: 401 invalid_client AADSTS700213" get $here held
check "the pod's own token is missing" as AZURE_FEDERATED_TOKEN_FILE="$work/nothing" -- says 3 "denied: $here: " get $here held
check "there is no endpoint" as AZURE_AUTHORITY_HOST=https://127.0.0.1:1 -- says 3 "unavailable: $here: " get $here held
check "an identity that is not set up" as AZURE_FEDERATED_TOKEN_FILE= -- says 3 "AZURE_FEDERATED_TOKEN_FILE and AZURE_TENANT_ID are not set" get $here held

##### TLS and names
names=127.0.0.1:$(cat "$azurite/names.port")
by_name() { WINDLASS_NAME_SERVERS=$names WINDLASS_BLOB_ENDPOINT=https://ACCOUNT.$1:$port "${@:2}"; }
check "by its name, over our own resolver" by_name blob.windlass.test round_trip
check "a name that is not in the certificate" by_name other.windlass.test says 3 "denied: $here: HEAD https://films.other.windlass.test" probe $here
check "no such name" by_name blob.nowhere.test says 3 "not-found: $here: films.blob.nowhere.test: host not found" probe $here
check "an untrusted authority" env WINDLASS_AUTHORITIES= bash -c "! '$tool' probe $here 2>'$work/err' && grep -q '^denied: $here: ' '$work/err'"

##### faults
beside proxy/port env SEED="${SOAK_SEED:-5}" bash -c "mkdir -p '$azurite/proxy' && exec python3 tests/proxy/proxy.py '$azurite/proxy' $port \
    '$azurite/ca.crt' '$azurite/server.crt' '$azurite/server.key' '$azurite/server.crt' '$azurite/server.key'"
export WINDLASS_BLOB_ENDPOINT=https://127.0.0.1:$(cat "$azurite/proxy/port")/ACCOUNT
faults() { echo "$1" >"$azurite/proxy/faults.new" && mv "$azurite/proxy/faults.new" "$azurite/proxy/faults"; }
done_faults() { jq -r ".\"$1\" // 0" "$azurite/proxy/counts" 2>/dev/null || echo 0; }
after_busy() {
    faults '[{"status": 503, "retryAfter": 2, "times": 1}]'
    local start=$SECONDS
    store get $here held && [ $((SECONDS - start)) -ge 2 ]
}
check "Retry-After is kept" after_busy
wrong_clock() {
    faults "[{\"status\": 403, \"date\": \"$(LC_ALL=C date -u -d "$1" '+%a, %d %b %Y %T GMT')\"}]"
    says 3 "denied: $here: the storage answered 403: this machine's clock is " probe $here && grep -qE "clock is [0-9]+ s $2\$" "$work/err"
    local code=$?
    faults '[]'
    return $code
}
check "a clock that is behind is reported" wrong_clock '+2 hours' behind
check "and one that is ahead" wrong_clock '-2 hours' ahead
lost_create() {
    faults '[{"method": "PUT", "path": "lost$", "cutBefore": true, "times": 1}]'
    says 3 "conflict: $here/lost: the storage answered 409 BlobAlreadyExists: already exists" create $here lost || return
    store stat $here lost
}
check "the answer to what was created is lost" lost_create
check "the answer to what replaces is lost" eval \
    'faults "[{\"method\": \"PUT\", \"path\": \"again$\", \"cutBefore\": true, \"times\": 3}]"; store put $here again </dev/null && store stat $here again'
check "a storage that stays busy" eval 'faults "[{\"status\": 503}]"; says 3 "busy: $here: the storage answered 503 (6 tries)" probe $here; code=$?; faults "[]"; [ $code -eq 0 ]'
slow_probe() {
    local start=$SECONDS # the first request is that of opening
    faults '[{"method": "HEAD", "stallSeconds": 0, "times": 1}, {"method": "HEAD", "stallSeconds": 300}]'
    says 3 "timeout: $here: " probe $here
    local code=$?
    faults '[]'
    [ $code -eq 0 ] && [ $((SECONDS - start)) -lt 25 ] # any other request waits for 30 s
}
check "a storage that is silent: the probe knows after its 3 s" slow_probe
faulty=$(jq -n '[{share: 0.04, status: 500}, {share: 0.04, cutBefore: true}, {share: 0.04, cutInside: true}]')
rounds() {
    local seed=${SOAK_SEED:-11}
    faults "$faulty"
    for round in $(seq $((${SOAK_ROUNDS:-60} / 20))); do
        store random $here/$round $((seed + round)) 150 && continue
        echo "# SOAK_SEED=$seed, round $round: $(cat "$work/err")"
        return 1
    done
    faults '[]'
    [ "$(done_faults 500)" -gt 10 ] && [ "$(done_faults lost)" -gt 10 ] && [ "$(done_faults inside)" -gt 3 ]
}
check "one request in nine answered 500, lost, or cut: as if there were no faults" rounds
many() {
    faults "$faulty"
    store fill $here/many 400 3000 16 && store drain $here/many 400 16 && [ "$(cat "$work/out")" = "1200000 bytes" ] || return
    store list $here/many && [ "$(wc -l <"$work/out")" -eq 400 ]
}
check "the same by sixteen threads" many
faults '[]'
unset WINDLASS_BLOB_ENDPOINT
start

##### what others leave in a container
odd() { python3 tests/azurite/az.py "$azurite" put films "tests/odd/$1" "${2-text}"; }
check "placeholders of folders are not objects" eval 'odd a && odd "dir/" "" && odd "dir/b" && store list az://films/tests/odd && [ "$(cat "$work/out")" = "a 4
dir/b 4" ]'
folder() { python3 tests/azurite/az.py "$azurite" folder films tests/odd/stub; }
no_object() {
    folder && says 2 "invalid: az://films/tests/odd/stub: is a folder, not an object" stat az://films/tests/odd stub &&
        says 2 "invalid: az://films/tests/odd/stub: is a folder, not an object" get az://films/tests/odd stub &&
        store list az://films/tests/odd && ! grep -q stub "$work/out"
}
check "nor are markers of folders, as mounts and Data Lake leave them" no_object
faults_of_names() {
    odd "dir//c" && odd "end/" && store list az://films/tests/odd && ! grep -q -e "//" -e end "$work/out" && store faults az://films/tests/odd &&
        [ "$(cat "$work/out")" = "dir//c: az://films/tests/odd/dir//c: its name has two slashes in a row
end/: az://films/tests/odd/end/: its name ends with a slash" ]
}
check "names that cannot be requested are listed with the reason" faults_of_names

##### no secret is shown
quiet() {
    [ "$(wc -l <"$work/secrets")" -gt 15 ] && [ -s "$work/said" ] && grep -q WINDLASS_STORES_FOLDER "$work/seen" || return
    # Keys and signatures may be URL-encoded, too; the federated token and Entra's begin with eyJ.
    ! grep -aF -f "$work/secrets" "$work/said" "$work/seen" "$work/err" "$work/out" "$work/held"
}
check "no secret in outputs, arguments or the environment" quiet
exit $((failures > 0))
