# shellcheck shell=bash disable=SC2034
# own.sh: a one-node cluster of a script's own, which ends with it. Sourced, in the repository's root. Where there cannot be
# one it says so and ends the script. One cluster per machine: it waits for another script's to end.
# Afterwards: kubectl and helm mean that cluster; $work is a folder that goes with the script.
. tests/cluster/lib.sh
. tests/cluster/env.sh
if [ "$(id -u)" != 0 ]; then echo "skip ${script%.sh}: the one-node cluster needs root"; exit 0; fi
mkdir -p "$cache"
exec 8>"$cache/cluster.lock"
flock 8
if running apiserver; then echo "skip ${script%.sh}: a cluster runs already (make cluster-down)"; exit 0; fi
work=$(mktemp -d)
trap 'tests/cluster/down.sh; rm -rf "$work"' EXIT
tests/cluster/up.sh >"$work/up" 2>&1 || { sed 's/^/# /' "$work/up"; echo "not ok the cluster starts"; exit 1; }
echo "ok the cluster starts"
export KUBECONFIG=$folder/kubeconfig PATH=$bin:$PATH
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
install_chart() {
    helm install windlass charts/windlass --namespace windlass --create-namespace --set image.registry=localhost \
        --wait --timeout 3m >"$work/helm.out" 2>&1 && return
    kubectl -n windlass describe pods >>"$work/helm.out"
    sed 's/^/# /' "$work/helm.out"
    return 1
}
# import ARCHIVE: an image that pods may have.
import() { "${ctr[@]}" images import --all-platforms=false "$1" >"$work/import" 2>&1 || { sed 's/^/# /' "$work/import"; return 1; }; }
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "# not in time: $*"; return 1; }
        sleep 0.2
    done
}
