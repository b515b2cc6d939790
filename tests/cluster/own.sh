# shellcheck shell=bash disable=SC2034
# own.sh: a one-node cluster for a script. Sourced after tests/e2e/lib.sh, in the repository's root. A script that runs alone
# starts it and ends it. In a run of tests/run.sh ($WINDLASS_SHARED) the first script starts it, the next ones use it, each
# in the namespace $namespace that it has set before (default: default), and the runner ends it. If a cluster cannot run here
# it says so and ends the script. One cluster per machine: it waits for another script's to end.
# Afterwards: kubectl (a function; `command kubectl` can be killed) and helm mean that cluster and $namespace; $work is a
# folder that is removed with the script.
. tests/cluster/lib.sh
. tests/cluster/env.sh
. tests/cluster/accounts.sh
if [ "$(id -u)" != 0 ]; then echo "skip ${script%.sh}: the one-node cluster needs root"; exit 0; fi
mkdir -p "$cache"
exec 8>"$cache/cluster.lock"
flock 8
shared=${WINDLASS_SHARED:+$WINDLASS_SHARED/cluster} # this file exists while the run's cluster does
if running apiserver && [ ! -e "$shared" ]; then echo "skip ${script%.sh}: a cluster runs already (make cluster-down)"; exit 0; fi
work=$(mktemp -d)
volumes=$folder/volumes # of all scripts; this one's are newer than the file `began` (tests/e2e/lib.sh)
touch "$work/began"
: "${namespace:=default}"
leave_cluster() {
    if [ -z "$shared" ]; then
        tests/cluster/down.sh
    elif running apiserver; then
        finish gpus
        [ "$namespace" = default ] || k delete namespace "$namespace" --wait=false >/dev/null 2>&1
    else
        rm -f "$shared"
    fi
    rm -rf "$work"
}
trap leave_cluster EXIT
if [ -n "$shared" ]; then mkdir -p "${shared%/*}" && touch "$shared"; fi
running apiserver || (${shared:+on_account cluster} tests/cluster/up.sh) >"$work/up" 2>&1 || { sed 's/^/# /' "$work/up"; echo "not ok the cluster starts"; exit 1; }
echo "ok the cluster starts"
cp "$folder/kubeconfig" "$work/kubeconfig"
export KUBECONFIG=$work/kubeconfig PATH=$bin:$PATH WINDLASS_NAMESPACE=$namespace
if declare -F warm_kubectl >/dev/null; then # of e2e/lib.sh; benchmarks start kubectl each time
    warm_kubectl "$work" "$bin/kubectl"
    kubectl() { ask_kubectl "$@"; }
fi
[ "$namespace" = default ] || kubectl create namespace "$namespace" >/dev/null || exit 3
kubectl config set-context --current --namespace="$namespace" >/dev/null
export XDG_STATE_HOME=$work/xdg # a run of this machine may have the name that a job has here, or that none has
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
# A chart that another script has left installed is used again.
install_chart() {
    [ "$(helm status windlass --namespace windlass -o json 2>/dev/null | jq -r .info.status)" != deployed ] || return 0
    helm install windlass charts/windlass --namespace windlass --create-namespace --set image.registry=localhost \
        --wait --timeout 3m >"$work/helm.out" 2>&1 && return
    kubectl -n windlass describe pods >>"$work/helm.out"
    sed 's/^/# /' "$work/helm.out"
    return 1
}
# import ARCHIVE: makes an image available to pods, if no script of the run has.
import() {
    local imported
    imported=$folder/imported-$(basename "$1")-$(stat -c %i-%Y "$1")
    [ ! -e "$imported" ] || return 0
    "${ctr[@]}" images import --all-platforms=false "$1" >"$work/import" 2>&1 && touch "$imported" || { sed 's/^/# /' "$work/import"; return 1; }
}
look_every=100 # until_true: each look is some requests
