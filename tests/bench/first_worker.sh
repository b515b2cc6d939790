#!/usr/bin/env bash
# From `kubectl apply` to the first worker that is connected, on the one-node cluster (tests/cluster/up.sh), and whose
# time it is: the API server's audit log, containerd's events and the pods' logs say when each step was done.
#   ROUNDS=20
# Needs root. One cluster per machine: it is started here and ended here.
set -eu
cd "$(dirname "$0")/../.."
script=first_worker.sh
. tests/cluster/lib.sh
. tests/cluster/env.sh
if [ "$(id -u)" != 0 ]; then echo "first_worker.sh: skipped: the one-node cluster needs root"; exit 0; fi
mkdir -p "$cache"
exec 8>"$cache/cluster.lock"
flock 8
if running apiserver; then echo "first_worker.sh: skipped: a cluster runs already (make cluster-down)"; exit 0; fi
work=$(mktemp -d)
trap 'tests/cluster/down.sh; rm -rf "$work"' EXIT
AUDIT=yes tests/cluster/up.sh >"$work/up" 2>&1 || { cat "$work/up" >&2; exit 3; }
export KUBECONFIG=$folder/kubeconfig PATH=$bin:$PATH
helm install windlass charts/windlass --namespace windlass --create-namespace --set image.registry=localhost \
    --wait --timeout 2m >"$work/helm" 2>&1 || { cat "$work/helm" >&2; exit 3; }
examples/style-transfer/fetch.sh
tests/cluster/volume.sh style-transfer examples/style-transfer/data >/dev/null
launch events "${ctr[@]}" events
python3 tests/bench/first_worker.py "$folder" "${ROUNDS:-20}" build/bench/first_worker.json
finish events
