#!/usr/bin/env bash
# volume.sh NAME [FOLDER [NAMESPACE]]: makes a claim NAME on the one-node cluster, bound to a folder of this machine
# that starts as a copy of FOLDER and that the pods' user (65532) may write. Prints its path. NAMESPACE:
# $WINDLASS_NAMESPACE, else default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/env.sh"
name=${1:?the name of the claim} source=${2:-} namespace=${3:-${WINDLASS_NAMESPACE:-default}}
running apiserver || fail "no cluster runs here: make cluster-up"
place=$folder/volumes/$namespace-$name
mkdir -p "$place"
if [ -n "$source" ]; then
    [ -d "$source" ] || fail "$source is not a folder (examples/style-transfer/fetch.sh fetches the example's)"
    cp -r "$source/." "$place/"
fi
chown -R 65532:65532 "$place"
k apply -f - >/dev/null <<VOLUME
apiVersion: v1
kind: PersistentVolume
metadata: {name: $namespace-$name}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ""
  claimRef: {namespace: $namespace, name: $name}
  hostPath: {path: $place, type: Directory}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $name, namespace: $namespace}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: $namespace-$name
  resources: {requests: {storage: 10Gi}}
VOLUME
# The scheduler may retry a pod with an unbound claim only half a minute later.
claim() { # (a tenth of what kubectl takes)
    curl -sS --cacert "$folder/pki/ca.crt" --cert "$folder/pki/admin.crt" --key "$folder/pki/admin.key" \
        "https://127.0.0.1:6443/api/v1/namespaces/$namespace/persistentvolumeclaims/$name"
}
for _ in $(seq 150); do
    [[ "$(claim)" =~ '"phase":'\ ?'"Bound"' ]] && break
    sleep 0.2
done
echo "$place"
