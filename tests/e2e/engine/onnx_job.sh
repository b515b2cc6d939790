# shellcheck shell=bash disable=SC2034,SC2154
# onnx_job.sh: whole jobs with networks of the script's own. Sourced after tests/e2e/lib.sh, in the repository's root;
# the script puts networks into $work/model and inputs into $work/data.
windlass=$(realpath "${BUILD:-build}/windlass")
agent=$(realpath "${BUILD:-build}/windlass-agent")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/model" "$work/data"
# onnx_job INPUT FIELDS-OF-ONNX [FIELDS-OF-OUTPUT]: runs it in two workers, to data/out. Its exit code is in $code, which
# should be $wanted (0), and what it printed in $work/log. $size: miniBatchSize. $fields: more lines of the spec. $again: it
# goes on with the last one's output.
onnx_job() {
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: scored}
spec:
  input: $1
  scorer: {onnx: {$2}}
  output: {path: data/out${3:+, $3}}
  miniBatchSize: ${size:-auto}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
${fields:-}
M
    [ -n "${again:-}" ] || discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq "${wanted:-0}" ] || tail -n 5 "$work/log" | sed 's/^/# /'
}
# The job failed, and said this.
says() { [ $code -ne 0 ] && grep -qF -- "$1" "$work/log" || { tail -n 5 "$work/log" | sed 's/^/# /'; false; }; }
