#!/usr/bin/env bash
# s3:// against a real server, Ceph's, and gs:// by Google's interface to it (s3_google.sh): keys, buckets, jobs, what happens when keys change under way, a server that refuses, loses
# answers, cuts connections or overwrites what is to be made once, and that no secret is printed anywhere. SOAK_ROUNDS / 20
# seeds against the proxy (default 1), from SOAK_SEED on.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
make -s CC="${CC:-gcc}" build/tests/azurite/store || { echo "not ok the tool that the test needs is built"; exit 1; }
tool=$PWD/build/tests/azurite/store
work=$(mktemp -d)
s3=$work/s3
finish() {
    # shellcheck disable=SC2046 # one word for each process
    kill $(jobs -p) 2>/dev/null
    tests/s3/start.sh stop "$s3"
    rm -rf "$work"
}
trap finish EXIT
variables=$(tests/s3/start.sh start "$s3" $$) || { echo "not ok the server starts"; exit 1; }
while read -r line; do export "${line?}"; done <<<"$variables"
here=s3://films/tests/e2e
port=$(cat "$s3/port")

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
id=$(cat "$s3/stores/s3-films/AWS_ACCESS_KEY_ID") secret=$(cat "$s3/stores/s3-films/AWS_SECRET_ACCESS_KEY")
keys() { printf %s "$1" >"$s3/stores/s3-films/AWS_ACCESS_KEY_ID" && printf %s "$2" >"$s3/stores/s3-films/AWS_SECRET_ACCESS_KEY"; }

##### keys and buckets
round_trip() {
    echo "some bytes" | store put $here "a/b +ü" && store get $here "a/b +ü" && [ "$(cat "$work/out")" = "some bytes" ] &&
        store list $here a/ && [ "$(cat "$work/out")" = "a/b +ü 11" ] && store stat $here "a/b +ü" && store probe $here &&
        store remove $here "a/b +ü" && says 3 "not-found: $here/a/b +ü: the storage answered 404" get $here "a/b +ü"
}
check "with a key" round_trip
check "a secret that is not the key's" eval 'keys "$id" wrong-secret; says 3 "denied: $here: the storage answered 403 SignatureDoesNotMatch: AWS_SECRET_ACCESS_KEY is not the key'"'"'s" probe $here'
check "a key that the server does not know" eval 'keys AKIANOBODY "$secret"; says 3 "denied: $here: the storage answered 403 InvalidAccessKeyId: AWS_ACCESS_KEY_ID is unknown there" probe $here'
check "a key of two words" eval 'keys "two words" "$secret"; says 3 "s3-films/AWS_ACCESS_KEY_ID: one word is expected" probe $here'
check "no key" eval 'rm "$s3"/stores/s3-films/AWS*; says 3 "s3-films holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" probe $here'
keys "$id" "$secret"
check "no such bucket" eval 'mkdir -p "$s3/stores/s3-nowhere"; cp "$s3"/stores/s3-films/* "$s3/stores/s3-nowhere"; says 3 "not-found: s3://nowhere/x: bucket not found" list s3://nowhere/x'
check "a region that is none" env AWS_REGION="eu west" bash -c "! '$tool' probe $here 2>'$work/err' && grep -q 'AWS_REGION is \"eu west\", a region such as eu-central-1 is expected' '$work/err'"
read_only() {
    WINDLASS_BUCKETS='[{"name":"films","readOnly":true}]' says 3 "denied: $here: this bucket is read-only" put $here x &&
        WINDLASS_BUCKETS='[{"name":"films","readOnly":true}]' store list $here
}
check "readOnly" read_only
. tests/e2e/storage/s3_identity.sh
. tests/e2e/storage/s3_jobs.sh
. tests/e2e/storage/s3_google.sh
rotated() {
    local reader
    echo here | store put $here held
    "$tool" outlast $here held "$work/ended" >"$work/held" 2>&1 &
    reader=$!
    sleep 0.5
    cat "/proc/$reader/cmdline" "/proc/$reader/environ" >>"$work/seen" 2>/dev/null
    admin key create --uid windlass --access-key SECONDKEY --secret-key second-secret || return
    keys SECONDKEY second-secret
    admin key rm --uid windlass --access-key "$id" || return
    sleep 1
    touch "$work/ended"
    wait $reader && store get $here held
}
check "keys are replaced under way" rotated

##### faults
mkdir -p "$s3/proxy"
SEED=${SOAK_SEED:-5} python3 tests/proxy/proxy.py "$s3/proxy" "$port" "$s3/ca.crt" "$s3/server.crt" "$s3/server.key" "$s3/server.crt" "$s3/server.key" >"$work/proxy.log" 2>&1 &
until_true 60 [ -s "$s3/proxy/port" ] || { echo "not ok the proxy listens"; exit 1; }
export WINDLASS_S3_ENDPOINT=https://127.0.0.1:$(cat "$s3/proxy/port")
faults() { echo "$1" >"$s3/proxy/faults.new" && mv "$s3/proxy/faults.new" "$s3/proxy/faults"; }
wrong_clock() {
    faults "[{\"status\": 403, \"date\": \"$(LC_ALL=C date -u -d "$1" '+%a, %d %b %Y %T GMT')\"}]"
    says 3 "denied: $here: the storage answered 403: this machine's clock is " probe $here && grep -qE "clock is [0-9]+ s $2\$" "$work/err"
    local code=$?
    faults '[]'
    return $code
}
check "a clock that is behind is reported" wrong_clock '+2 hours' behind
check "and one that is ahead" wrong_clock '-2 hours' ahead
answered() { # STATUS CODE XML EXIT TEXT COMMAND...: what it says where all answers are that error
    local code
    faults "$(jq -nc --argjson status "$1" --arg body "<Error><Code>$2</Code>$3</Error>" '[{status: $status, body: $body}]')"
    says "$4" "$5" "${@:6}"
    code=$?
    faults '[]'
    return $code
}
check "a server that stays busy" answered 503 SlowDown '' 3 "busy: $here: the storage answered 503 SlowDown (6 tries)" probe $here
slow_down() {
    faults '[{"status": 503, "body": "<Error><Code>SlowDown</Code></Error>", "times": 3}]'
    store probe $here
}
check "or is for a while" slow_down
check "a bucket in another region" answered 400 AuthorizationHeaderMalformed '<Region>eu-west-1</Region>' 2 \
    "invalid: $here: the storage answered 400 AuthorizationHeaderMalformed: asked in us-east-1, the bucket is in eu-west-1: set its region" probe $here
check "or at another address" answered 301 PermanentRedirect '<Endpoint>films.s3-eu-west-1.amazonaws.com</Endpoint>' 2 \
    "invalid: $here: the storage answered 301 PermanentRedirect: asked in us-east-1, the bucket is in another region: set its region" probe $here
check "a clock that the server refuses" answered 403 RequestTimeTooSkewed '' 3 "denied: $here: the storage answered 403 RequestTimeTooSkewed" probe $here
lost_create() {
    faults '[{"method": "PUT", "path": "lost$", "cutBefore": true, "times": 1}]'
    says 3 "conflict: $here/lost: the storage answered 412 PreconditionFailed: already exists" create $here lost || return
    store stat $here lost
}
check "the answer to what was created is lost" lost_create
faulty=$(jq -nc '[{share: 0.04, status: 500}, {share: 0.04, cutBefore: true}, {share: 0.04, cutInside: true}]')
# The answer to the end of an upload in parts (20 MiB here) is lost, too: the object has the uploader's mark.
lost_end() {
    faults '[{"method": "POST", "path": "parts[?]uploadId=", "cutBefore": true, "times": 1}]'
    store upload $here parts 20000000 && store stat $here parts || return
    [ "$(jq -r '.lost // 0' "$s3/proxy/counts")" -ge 1 ]
}
check "the answer to the end of an upload is lost" lost_end
found_end() { # and then the object is found to be there, as where it is to be made once
    faults '[{"method": "POST", "path": "found[?]uploadId=", "cutInside": true, "times": 1}, {"method": "POST", "path": "found[?]uploadId=", "status": 412}]'
    store upload $here found 20000000
}
check "or the repeated end finds the object" found_end
refused_end() {
    faults '[{"method": "POST", "path": "none[?]uploadId=", "status": 412}]'
    says 3 "$here/none: the upload has ended without it" upload $here none 20000000 && says 3 "not-found: " stat $here none
}
check "an end that is refused made nothing" refused_end
failed_end() {
    faults '[{"method": "POST", "path": "late[?]uploadId=", "status": 200, "body": "<Error><Code>InternalError</Code></Error>", "times": 2}]'
    store upload $here late 20000000 && store stat $here late
}
check "an end that fails behind its 200 is repeated" failed_end
ended_session() { # HEAD has no code
    faults '[{"method": "HEAD", "status": 400}]'
    says 3 "denied: $here/late: the storage answered 400: AWS_SESSION_TOKEN may have expired" stat $here late
}
check "a session that has ended is denied, not an absent object" ended_session
# A server whose listing leads back to a page: it would be asked for ever. A page of hidden names alone makes no progress.
endless() { # MARKER JQ-FILTER: the one that comes again; the pages, by the token that is asked for
    local code
    faults "$(jq -nc "def page(\$asked; \$next): {method: \"GET\", path: \"\(\$asked).*list-type=2\", status: 200,
        body: \"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(\$next)</NextContinuationToken><Contents><Key>tests/e2e/.hidden/\(\$next)</Key><Size>1</Size></Contents></ListBucketResult>\"}; $2")"
    says 3 "the storage's list has no end: after some pages the marker \"$1\" comes again" list $here
    code=$?
    faults '[]'
    return $code
}
check "a listing without an end is refused" endless again '[page(""; "again")]'
check "and one in a circle" endless again '[page("continuation-token=again&"; "b"), page(""; "again")]'
check "that begins behind its first pages" endless b '[page("continuation-token=a&"; "again"), page("continuation-token=again&"; "b"),
    page("continuation-token=b&"; "c"), page("continuation-token=c&"; "again"), page(""; "a")]'
rounds() {
    local seed=${SOAK_SEED:-11}
    faults "$faulty"
    for round in $(seq $((${SOAK_ROUNDS:-20} / 20))); do
        store random $here/$round $((seed + round)) 60 && continue
        echo "# SOAK_SEED=$seed, round $round: $(cat "$work/err")"
        return 1
    done
    faults '[]'
    [ "$(jq -r '."500" // 0' "$s3/proxy/counts")" -gt 3 ]
}
check "one request in nine answered 500, lost, or cut: as if there were no faults" rounds

##### a server that overwrites what is to be made once: many ignore the header, as Ceph does here, which does not get it
overwrites() {
    local code
    faults '[{"without": "if-none-match"}]'
    store get $here held && says 3 "unsupported: $here: the server at ${WINDLASS_S3_ENDPOINT#https://} overwrites an object that is to be made once (If-None-Match: *)" put $here x
    code=$?
    faults '[]'
    store put $here x </dev/null && return $code
}
check "a server that makes an object twice is read, and not written" overwrites

##### no secret is shown
quiet() {
    { printf '%s\n' "$secret" second-secret wrong-secret; cat "$s3/token" "$s3/pod-token" "$s3/session" "$s3/google.token"; } >"$work/secrets"
    [ -s "$work/said" ] && grep -q WINDLASS_STORES_FOLDER "$work/seen" || return
    ! grep -aF -f "$work/secrets" "$work/said" "$work/seen" "$work/held"
}
check "no secret in outputs, arguments or the environment" quiet
exit $((failures > 0))
