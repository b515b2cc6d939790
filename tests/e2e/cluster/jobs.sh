# shellcheck shell=bash disable=SC2034 # what is set here is used there
# jobs.sh: a real API server (Kubernetes 1.20 with its garbage collector) in $api, and `windlass controller` on it.
# For scripts of this folder, which source it after lib.sh; all processes end with the script.
# The array api_flags: more flags of kube-apiserver. $namespace: see shared_api.
declare -a api_flags+=()
. tests/cluster/accounts.sh
windlass=$(realpath "${BUILD:-build}")/windlass
work=$(mktemp -d)
api=$work/api
cleanup() {
    # shellcheck disable=SC2046 # several numbers
    kill -9 $(jobs -p) 2>/dev/null
    wait 2>/dev/null
    tests/cluster/api-server.sh stop "$api" >/dev/null 2>&1
    rm -rf "$work"
}
trap cleanup EXIT
# In a run of tests/run.sh ($WINDLASS_SHARED) the scripts that set $namespace before, since they change nothing outside of it,
# use one API server together: the first of them starts it, the runner ends it. $api has what this script needs of it, and its
# controllers see that namespace.
shared_api() {
    local home=$WINDLASS_SHARED/api name
    namespace=$namespace-$$ # (a script may run again)
    mkdir -p "$home" "$api"
    exec 7>"$WINDLASS_SHARED/api.lock"
    flock 7
    if [ ! -e "$home/started" ]; then
        (on_account api tests/cluster/api-server.sh start "$home" --kinds --controller-manager) >"$work/api.log" 2>&1 || { cat "$work/api.log"; exit 3; }
        touch "$home/started"
    fi
    exec 7>&-
    for name in pki port token curl; do ln -s "$home/$name" "$api/$name"; done
    echo "$namespace" >"$api/namespace"
    sed "s/cluster: windlass-test, user/namespace: $namespace, &/" "$home/kubeconfig" >"$api/kubeconfig"
    sed "s#$home/kubeconfig#$api/kubeconfig#" "$home/kubectl" >"$api/kubectl"
    chmod +x "$api/kubectl"
    manager=later
}
scope=()
if [ -n "${namespace:-}" ] && [ -n "${WINDLASS_SHARED:-}" ]; then
    shared_api
    scope=(--namespace "$namespace")
else
    namespace=default
    tests/cluster/api-server.sh start "$api" --kinds --owner $$ -- "${api_flags[@]}" >"$work/api.log" 2>&1 || { cat "$work/api.log"; exit 3; }
fi
export KUBECONFIG=$api/kubeconfig
export XDG_STATE_HOME=$work/xdg # a run of this machine may have the name that a job has here, or that none has
kubectl=ask_kubectl
warm_kubectl "$api" "$api/kubectl"
[ "$namespace" = default ] || "$kubectl" create namespace "$namespace" >/dev/null || exit 3
# (1.20 does not know CEL and has dropped the rules of our kinds; invalid objects get in, and the controller must cope with them.)
rm -rf ~/.kube/cache/discovery/127.0.0.1_"$(<"$api/port")" # where kubectl keeps the list of kinds of before
# Its garbage collector looks for new kinds only every 30 s: a script with new kinds starts it after them
# (manager=later).
start_manager() { tests/cluster/api-server.sh controller-manager "$api" >"$work/manager.log" 2>&1 || { cat "$work/manager.log"; exit 3; }; }
[ "${manager:-}" = later ] || start_manager

milliseconds() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
# within SECONDS COMMAND...: waits until it succeeds. A long wait looks every 0.2 s at last; a short one is a promise, and
# looks every 0.1 s.
within() {
    local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) pause=1 longest=$(($1 < 10 ? 1 : 2))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "${EPOCHREALTIME/[.,]/}" -lt $end ] || return 1
        nap "0.$pause"
        pause=$((pause < longest ? pause + 1 : longest))
    done
}
page() { curl -sf --max-time 2 "http://127.0.0.1:$1$2"; }
port_of() { sed -n 's/.*pages=http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$work/$1.log" 2>/dev/null; }
# controller NAME [OPTIONS]: starts one; sets $pid, and $port once it prints it, within 60 s.
controller() {
    local name=$1 end=$((SECONDS + 60))
    shift
    : >"$work/$name.log"
    "$windlass" controller --listen 127.0.0.1:0 --lease-namespace "$namespace" "${scope[@]}" "$@" 2>"$work/$name.log" &
    pid=$!
    until port=$(port_of "$name") && [ -n "$port" ]; do
        kill -0 $pid 2>/dev/null && [ $SECONDS -lt $end ] || { cat "$work/$name.log"; return 1; }
        sleep 0.02
    done
}
# job NAME [SPEC LINE]: applies one.
job() {
    cat <<YAML
---
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {video: {path: data/in.mp4}}
  scorer: {onnx: {path: data/relu.onnx}}
  output: {path: ${2:-data/out}}
  miniBatchSize: 2
  workers: {min: 2, max: 2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
YAML
}
# gang NAME [LINE...]: a DistTrain of three workers, with LINEs in its spec.
gang() {
    local name=$1
    shift
    { cat <<YAML; printf '  %s\n' "$@"; }
---
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: $name}
spec:
  workers: 3
  image: registry.test/mpi:1
  command: [mpirun, train]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
YAML
}
apply() { job "$@" | "$kubectl" apply -f - >/dev/null; }
# With kind=dt these functions look at a DistTrain.
field() { "$kubectl" get "${kind:-bs}" "$1" -o "jsonpath={$2}"; }
condition() { field "$1" ".status.conditions[?(@.type==\"${3:-Succeeded}\")].$2"; } # NAME FIELD [TYPE]
# ends NAME STATUS REASON: the job ends so within 120 s.
is_ended() { [ "$(condition "$1" status) $(condition "$1" reason)" = "$2 $3" ]; }
ends() { within 120 is_ended "$@" || { echo "# $1: $(condition "$1" status) $(condition "$1" reason): $(condition "$1" message)"; false; }; }
count() { "$kubectl" get "$1" -l "windlass.dev/job${2:+=$2}" -o name | wc -l; }
nothing_is_left() { [ "$(count pods "$1")" -eq 0 ] && [ "$(count services "$1")" -eq 0 ] && [ "$("$kubectl" get secrets -o name | grep -c "secret/$1-")" -eq 0 ]; }
gauge() { page "$1" /metrics | sed -n "s/^$2 //p"; }
says() { grep -qF -- "$1" <<<"$2"; }
