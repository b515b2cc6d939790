# shellcheck shell=bash disable=SC2034,SC2154 # what is used here is set there
# s3_google.sh: gs:// by Google's interface to the gateway's buckets (tests/s3/google.py), with an HMAC key and with tokens of
# the metadata service, and a job. For test_s3.sh, after s3_jobs.sh.
tests/s3/start.sh google "$s3" || echo "not ok Google's interface starts"
WINDLASS_GS_ENDPOINT=https://127.0.0.1:$(cat "$s3/google.port")
export WINDLASS_GS_ENDPOINT
of_amazon=$here here=gs://films/tests/google
counted() { jq ".$1" "$s3/google.counts"; }
check "gs:// with an HMAC key; Amazon's region is nothing to it" eval 'AWS_REGION="eu west" round_trip'
# curl signs by code of its own: what checks our signatures takes those of another program, and no others.
by_curl() { # SECRET STATUS
    [ "$(curl -sS -o "$work/out" -w '%{http_code}' --cacert "$s3/ca.crt" --aws-sigv4 goog:goog:auto:storage -H "x-goog-content-sha256: UNSIGNED-PAYLOAD" \
        -K <(echo "user = \"$id:$1\"") "$WINDLASS_GS_ENDPOINT/films?list-type=2&max-keys=1")" = "$2" ]
}
check "curl's signatures are taken there, too" eval 'by_curl "$secret" 200 && by_curl wrong-secret 403'
check "a secret that is not the key's" eval 'keys "$id" wrong-secret; says 3 "denied: $here: the storage answered 403 SignatureDoesNotMatch: AWS_SECRET_ACCESS_KEY is not the key'"'"'s" probe $here'
check "a key that Google does not know" eval 'keys GOOG1ENOBODY "$secret"; says 3 "denied: $here: the storage answered 403 InvalidSecurity: AWS_ACCESS_KEY_ID is unknown there" probe $here'
keys "$id" "$secret"
check "no key: those of Amazon are not taken" eval 'HOME=$work/home alone says 3 "s3-films holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an HMAC key of Google'"'"'s)" probe $here'
check "no such bucket" says 3 "not-found: gs://nowhere/x: bucket not found" list gs://nowhere/x
check "a bucket's name with an underscore is Google's alone" eval 'says 2 "\"s3://no_where/x\": s3://BUCKET/path/in/it is expected" list s3://no_where/x &&
    cp -r "$s3/stores/s3-nowhere" "$s3/stores/s3-no_where" && says 3 "bucket not found" list gs://no_where/x'
made_once() {
    local before
    before=$(counted conditions)
    echo one | store create $here once && [ "$(counted conditions)" -gt "$before" ] || return
    echo two | says 3 "conflict: $here/once: the storage answered 412 PreconditionFailed: already exists" create $here once
    store get $here once && [ "$(cat "$work/out")" = one ]
}
check "an object is made once" made_once
in_parts() { # what is to be made once is sent whole: Google has no conditions for parts
    local before
    before=$(counted refused)
    store upload $here session 20000000 && [ "$(counted refused)" -gt "$before" ] && store stat $here session
}
check "an upload of many pieces" in_parts

##### tokens
gke=("${node[@]}" GCE_METADATA_HOST="${near#http://}")
check "a token of the metadata service" as "${gke[@]}" -- round_trip
check "and nothing else" eval '[ "$(counted tokens)" -gt 5 ]'
check "a token serves many requests" eval 'pod=("${gke[@]}"); once'
check "and is fetched again before it ends" as "${gke[@]}" -- outlasts
check "no service account" odd '{"path": "computeMetadata", "status": 404, "times": 9}' as "${gke[@]}" -- says 3 "denied: $here: Google's metadata service: there is no service account" probe $here
check "it is busy for a moment" odd '{"path": "computeMetadata", "status": 503, "times": 2}' as "${gke[@]}" -- store probe $here
check "its answer is none" odd '{"path": "computeMetadata", "body": "<html>", "times": 9}' as "${gke[@]}" -- says 3 "Google's metadata service: the answer has no valid token" probe $here
check "its token would end a header" odd '{"path": "computeMetadata", "times": 9, "body": "{\"access_token\":\"a\\r\\nb: c\",\"expires_in\":60}"}' \
    as "${gke[@]}" -- says 3 "Google's metadata service: the answer has no valid token" probe $here
check "nothing is asked elsewhere" as "${gke[@]}" GCE_METADATA_HOST=10.0.0.1 -- says 2 "GCE_METADATA_HOST is \"http://10.0.0.1/computeMetadata" probe $here
python3 tests/azurite/names.py "$s3" &
until_true 60 [ -s "$s3/names.port" ]
named=("${node[@]}" WINDLASS_NAME_SERVERS="127.0.0.1:$(cat "$s3/names.port")")
check "the metadata service by a name" as "${named[@]}" GCE_METADATA_HOST=metadata.windlass.test:${near##*:} -- round_trip
check "a name with another address, too" as "${named[@]}" GCE_METADATA_HOST=far.windlass.test:${near##*:} -- \
    says 3 "which has the address 10.0.0.1, expected 169.254.169.254 or a loopback address" probe $here
check "a name that is not there" as "${named[@]}" GCE_METADATA_HOST=metadata.google.test -- says 3 "unavailable: $here: Google's metadata service: metadata.google.test: host not found" probe $here
check "the role of a service account is Amazon's" as 'WINDLASS_BUCKETS=[{"name":"films","identity":"ServiceAccount"}]' -- says 2 "identity ServiceAccount is not for gs://" probe $here

##### a job
job BatchScore google <<SPEC
input: {files: {path: gs://films/jobs/photos}}
scorer: {onnx: {path: gs://films/jobs/models/invert.onnx}}
output: {path: gs://films/jobs/google}
miniBatchSize: 1
workers: {min: 1, max: 1}
buckets: [{name: films, secretName: films-gs}]
SPEC
scored_there() {
    run 0 google env && verifies "$windlass" verify gs://films/jobs/google --stores "$s3/stores" &&
        [ "$(python3 tests/s3/s3.py "$s3" list films/jobs/google | grep -c 'png$')" -eq 5 ]
}
check "a BatchScore in gs://" scored_there
keyless_there() { # ~/.aws/credentials are there
    run 2 google env -u WINDLASS_STORES_FOLDER HOME="$work/home" &&
        grep -q 'google.yaml: spec.buckets\[0\]: a Secret is not known on this machine; give --stores DIR, with the files DIR/s3-films/AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$' "$work/log"
}
check "its keys are not on this machine" keyless_there
here=$of_amazon
