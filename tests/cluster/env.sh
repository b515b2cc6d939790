# shellcheck shell=bash disable=SC2034
# env.sh: where the one-node cluster is. Sourced by its scripts after lib.sh.
folder=${WINDLASS_CLUSTER_FOLDER:-$cache/cluster} # all files that one run writes; at most 72 characters, no space
node=node1
bridge=windlass0
gateway=10.88.0.1      # the host on the pods' network, where the API server and the kubelet listen
pod_network=10.88.0.0/16
service_network=10.96.0.0/16
ctr=(ctr -a "$folder/containerd/c.sock" -n k8s.io)
# (A separate cache: kubectl keeps the list of kinds for ten minutes.)
k() { "$bin/kubectl" --cache-dir "$folder/kubectl" --kubeconfig "$folder/kubeconfig" "$@"; }
