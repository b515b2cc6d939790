# shellcheck shell=bash disable=SC2154 # what is used here is set there
# s3_jobs.sh: jobs of `windlass run` whose inputs, models and outputs are in buckets, with keys of ~/.aws/credentials and of
# a service account's role. For test_s3.sh, after s3_identity.sh.
windlass=$(realpath "${BUILD:-build}/windlass")
mkdir -p "$work/photos" "$work/models"
python3 tests/data/models/make.py "$work/models"
ffmpeg -v error -f lavfi -i testsrc2=size=16x16:rate=1 -frames:v 5 "$work/photos/%d.png" </dev/null || echo "not ok there are pictures"
python3 tests/s3/s3.py "$s3" upload films/jobs/photos "$work/photos"
python3 tests/s3/s3.py "$s3" upload films/jobs/models "$work/models"
job() { # KIND NAME, and its spec on stdin
    { printf 'apiVersion: windlass.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n' "$1" "$2"; sed 's/^/  /'; } >"$work/$2.yaml"
}
run() { # CODE NAME VARIABLES...
    "${@:3}" timeout 300 "$windlass" run -f "$work/$2.yaml" --state "$work/state.$2" >"$work/log" 2>&1 </dev/null
    local code=$?
    cat "$work/log" "$work/state.$2"/*.log >>"$work/said" 2>/dev/null
    [ $code -eq "$1" ] && return
    sed 's/^/# /' "$work/log" | tail -n 5
    return 1
}
verifies() { "$@" >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; return 1; }; }
buckets='buckets: [{name: films, identity: ServiceAccount}]'
# The gateway of roles, and no Secret; what the role has comes by the variables that windlass run passes on.
here_role=(env "${role[@]:1}" WINDLASS_BUCKETS=)
job BatchScore photos <<SPEC
input: {files: {path: s3://films/jobs/photos}}
scorer: {onnx: {path: s3://films/jobs/models/invert.onnx}}
output: {path: s3://films/jobs/painted}
logs: {path: s3://films/jobs/logs}
miniBatchSize: 1
workers: {min: 1, max: 1}
serviceAccountName: scorer
$buckets
SPEC
scored() {
    run 0 photos "${here_role[@]}" && verifies "${here_role[@]}" "$windlass" verify s3://films/jobs/painted &&
        [ "$(python3 tests/s3/s3.py "$s3" list films/jobs/painted | grep -c 'png$')" -eq 5 ]
}
check "a BatchScore by the role of a service account" scored
job DistTrain digits <<SPEC
workers: 1
slotsPerWorker: 2
trainer:
  model: {new: CNN, classes: 4, shape: [1, 8, 8]}
  data: {train: {synthetic: {count: 64, classes: 4, shape: [1, 8, 8]}}}
  epochs: 1
  batchSize: 32
  optimizer: {learningRate: "0.01"}
  output: {path: s3://films/jobs/trained}
buckets: [{name: films, secretName: films-s3}]
SPEC
trained() {
    run 0 digits env -u WINDLASS_STORES_FOLDER AWS_SHARED_CREDENTIALS_FILE="$work/shared" &&
        verifies "$windlass" verify s3://films/jobs/trained --stores "$s3/stores"
}
check "a DistTrain with the keys of ~/.aws/credentials" trained
keyless() {
    run 2 digits env -u WINDLASS_STORES_FOLDER HOME="$work" &&
        grep -qF 'digits.yaml: spec.buckets[0]: a Secret is not known on this machine; give --stores DIR, with the files DIR/s3-films/AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the file ~/.aws/credentials' "$work/log"
}
check "keys are not on this machine" keyless
