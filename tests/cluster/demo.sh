#!/usr/bin/env bash
# The demo on a real Kubernetes: the one-node cluster, the chart by helm, the example's unchanged manifest by kubectl.
# Waits for its end and copies the video to build/cluster-demo. `make cluster-demo` calls it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
. "$here/lib.sh"
. "$here/env.sh"
example=examples/style-transfer
job=style-transfer
shown() { printf '\n$ %s\n' "$*"; "$@"; }
condition() { kubectl get bs $job -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$1}"; }

"$here/up.sh" >/dev/null
$example/fetch.sh
export KUBECONFIG=$folder/kubeconfig PATH=$bin:$PATH
shown helm upgrade --install windlass charts/windlass --namespace windlass --create-namespace \
    --set image.registry=localhost --wait --timeout 2m
shown kubectl -n windlass get pods
kubectl delete -f $example/batchscore.yaml --ignore-not-found --wait >/dev/null
place=$("$here/volume.sh" $job $example/data)
rm -rf "$place/painted"
start=$SECONDS
shown kubectl apply -f $example/batchscore.yaml
shown kubectl get bs $job --watch --output-watch-events=false &
watching=$!
trap 'kill $watching 2>/dev/null || true' EXIT
until status=$(condition status) && [[ $status = True || $status = False ]]; do
    [ $((SECONDS - start)) -lt 1800 ] || fail "$job has not ended after 30 minutes: kubectl describe bs $job"
    sleep 1
done
sleep 1
kill $watching 2>/dev/null || true
shown kubectl get bs $job -o wide
[ "$status" = True ] || fail "$job failed: $(condition message)"
mkdir -p build/cluster-demo
cp "$place/painted/cockatoo.mp4" "$place/painted/summary.json" build/cluster-demo/
cat <<TEXT

The painting is build/cluster-demo/cockatoo.mp4, after $((SECONDS - start)) s; summary.json is beside it.
It came out of the claim "$job", which is the folder $place.
The cluster goes on. What to look at:

  export KUBECONFIG=$KUBECONFIG PATH=$bin:\$PATH
  kubectl describe bs $job
  kubectl logs -n windlass deployment/windlass

\`make cluster-down\` ends it.
TEXT
