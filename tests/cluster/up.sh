#!/usr/bin/env bash
# A real one-node Kubernetes 1.20 on this machine: etcd, kube-apiserver, controller-manager, scheduler, kubelet,
# kube-proxy, containerd. `make cluster-up` calls it; down.sh ends it. Builds and installs what is missing (the first
# time 15 minutes, then 10 s), loads our images, and ends by printing what a user needs.
# Needs root and Debian 12. One cluster per machine: kubelet's folders and the ports are fixed. There is no DNS, and
# pods have no way out of this machine.
#   GPUS=8             the number of made-up nvidia.com/gpu on the node (they compute nothing)
#   COMPACTION=30s     how often the API server compacts etcd (default 5m)
#   AUDIT=yes          the API server writes every request into log/audit.log of the cluster's folder
#   CLUSTER_IMAGES=no  without our own images
set -euo pipefail
# The servers of Kubernetes collect garbage seldom, until they have 1 GiB: memory for processor time. (With more than 200 MiB
# alive that is more often than usual: benches of many objects set their own.)
export GOGC=${GOGC:-1600} GOMEMLIMIT=${GOMEMLIMIT:-1GiB}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/env.sh"

##### what must be there ##############################################################################################
[ "$(id -u)" = 0 ] || fail "needs root, so as root: make cluster-up"
[[ ${#folder} -le 72 && $folder != *[[:space:]]* ]] ||
    fail "the folder $folder is too long for unix sockets or has a space: set WINDLASS_CLUSTER_FOLDER"
need_packages etcd-server containerd runc containernetworking-plugins iptables conntrack iproute2 procps kmod \
    openssl curl jq gcc libc6-dev mmdebstrap buildah
"$here/build-kubernetes.sh" >/dev/null || exit 3
"$here/get-clients.sh" >/dev/null || exit 3
archives=("$cache/images/pause.tar")
if [ ! -f "${archives[0]}" ]; then
    mkdir -p "$cache/images"
    gcc -Os -static -s -o "$cache/images/pause" "$here/pause.c"
    b() { STORAGE_DRIVER=vfs buildah --root "$cache/images/pause-storage" --runroot "$cache/images/pause-run" "$@"; }
    container=$(b from scratch)
    b copy -q "$container" "$cache/images/pause" /pause >/dev/null
    b config --entrypoint '["/pause"]' "$container"
    b commit -q --rm "$container" localhost/pause:1 >/dev/null
    b push -q localhost/pause:1 "docker-archive:${archives[0]}:localhost/pause:1"
    rm -rf "$cache"/images/pause "$cache"/images/pause-storage "$cache"/images/pause-run
fi
if [ "${CLUSTER_IMAGES:-yes}" != no ]; then
    REGISTRY=localhost BASE=packages "$here/../../images/build.sh" archive "$cache/images" || exit 3
    for name in operator agent trainer; do archives+=("$cache/images/windlass-$name.tar"); done
fi
load_images() {
    local archive
    for _ in $(seq 100); do "${ctr[@]}" version >/dev/null 2>&1 && break; sleep 0.1; done
    for archive in "${archives[@]}"; do
        "${ctr[@]}" images import --all-platforms=false "$archive" >>"$folder/log/import.log" 2>&1 ||
            { tail -n 3 "$folder/log/import.log" >&2; return 3; }
    done
}
tell() {
    cat <<TEXT

A Kubernetes of one node runs on this machine. \`make cluster-down\` ends it and removes what was in it.

  export KUBECONFIG=$folder/kubeconfig PATH=$bin:\$PATH
  helm install windlass charts/windlass --namespace windlass --create-namespace --set image.registry=localhost
  examples/style-transfer/fetch.sh
  tests/cluster/volume.sh style-transfer examples/style-transfer/data
  kubectl apply -f examples/style-transfer/batchscore.yaml
  kubectl get bs --watch

or \`make cluster-demo\`, which does all of that.
TEXT
}
if running apiserver && running kubelet; then
    load_images || exit 3
    say "the cluster runs already; its images are current"
    tell
    exit 0
fi
if [ -n "$(ls "$folder/pids" 2>/dev/null)" ]; then "$here/down.sh"; fi
for port in 6443 10250; do
    [ -z "$(ss -Hltn "sport = :$port")" ] || fail "port $port is taken: is another Kubernetes on this machine?"
done
for network in $pod_network $service_network; do
    [ -z "$(ip -4 route show root "$network")" ] || fail "this machine routes $network already, which the cluster needs"
done
mkdir -p "$folder"/{pki,users,log,pids,etcd,containerd,cni/net.d,cni/state,kubelet,plugins,volumes}
trap 'code=$?; [ $code = 0 ] || echo "$script: failed; the logs are in $folder/log; make cluster-down cleans up" >&2' EXIT

##### the host: a bridge first, so that the API server has an address to advertise that is not a loopback #############
for name in net.ipv4.ip_forward net.ipv4.conf.all.route_localnet net.bridge.bridge-nf-call-iptables kernel.panic \
    kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes vm.overcommit_memory \
    net.netfilter.nf_conntrack_tcp_timeout_established net.netfilter.nf_conntrack_tcp_timeout_close_wait; do
    # kubelet and kube-proxy set these sysctls; down.sh puts them back.
    if value=$(sysctl -n $name 2>/dev/null); then echo "$name=$value"; fi
done >"$folder/sysctl.before"
modprobe -a br_netfilter overlay 2>/dev/null || true # built in on some kernels
sysctl -qw net.ipv4.ip_forward=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null ||
    fail "the kernel module br_netfilter is missing: modprobe br_netfilter"
ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
ip addr replace $gateway/16 dev "$bridge"
ip link set "$bridge" up
ip route replace $service_network dev "$bridge" # so that no address of a service matches the default route

##### certificates ####################################################################################################
cd "$folder/pki"
authority windlass-cluster
certificate apiserver /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,\
DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:$gateway,IP:10.96.0.1"
certificate apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
certificate admin /O=system:masters/CN=kubernetes-admin
certificate controller-manager /CN=system:kube-controller-manager
certificate scheduler /CN=system:kube-scheduler
certificate proxy /O=system:node-proxier/CN=system:kube-proxy
certificate kubelet "/O=system:nodes/CN=system:node:$node" "DNS:$node,IP:127.0.0.1,IP:$gateway"
service_account_key
cd "$folder"
for user in admin controller-manager scheduler proxy kubelet; do
    kubeconfig https://127.0.0.1:6443 "$folder/pki" $user >"users/$user"
done
cp users/admin kubeconfig
rm -rf ~/.kube/cache/discovery/127.0.0.1_6443 # kubectl's cache of the last cluster

##### containerd and the pods' network. Pods get a route to services only #############################################
# restrict_oom_score_adj: without CAP_SYS_RESOURCE no sandbox would start otherwise.
cat >containerd.toml <<CONFIG
version = 2
root = "$folder/containerd/root"
state = "$folder/containerd/state"
[grpc]
  address = "$folder/containerd/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_tcp_service = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "/usr/sbin/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni/net.d"
CONFIG
cat >cni/net.d/10-bridge.conflist <<CONFIG
{"cniVersion": "0.4.0", "name": "windlass", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$folder/cni/state",
            "ranges": [[{"subnet": "$pod_network", "rangeStart": "10.88.1.1", "gateway": "$gateway"}]],
            "routes": [{"dst": "$service_network"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CONFIG
launch containerd containerd --config "$folder/containerd.toml" --log-level info
load_images &
loading=$!

etcd_port=$(free_port) peer_port=$(free_port)
etcd=http://127.0.0.1:$etcd_port peer=http://127.0.0.1:$peer_port
launch etcd etcd --name n --data-dir "$folder/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "n=$peer"

##### kubelet, before the API server answers: it retries, and 5 s of its own start are hidden #########################
# Image garbage collection would delete images that cannot be pulled again. A name server is given because kubelet
# complains without one; nothing answers there. It looks each second whether the node has changed (GPUs), and otherwise
# reports it seldom: its lease shows that it lives.
cat >kubelet.yaml <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $gateway
cgroupDriver: cgroupfs
cgroupRoot: /
failSwapOn: false
authentication: {x509: {clientCAFile: $folder/pki/ca.crt}, webhook: {enabled: true}, anonymous: {enabled: false}}
authorization: {mode: Webhook}
tlsCertFile: $folder/pki/kubelet.crt
tlsPrivateKeyFile: $folder/pki/kubelet.key
clusterDNS: [$gateway]
clusterDomain: cluster.local
resolvConf: ""
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
volumePluginDir: $folder/plugins
enforceNodeAllocatable: [pods]
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 5m
CONFIG
# AWS_EC2_METADATA_DISABLED: otherwise a credential plug-in of 1.20 asks a cloud's metadata address at start.
launch kubelet env AWS_EC2_METADATA_DISABLED=true "$bin/kubelet" --config="$folder/kubelet.yaml" \
    --kubeconfig="$folder/users/kubelet" --root-dir="$folder/kubelet" --cert-dir="$folder/pki" \
    --container-runtime=remote --container-runtime-endpoint="unix://$folder/containerd/c.sock" \
    --pod-infra-container-image=localhost/pause:1 --hostname-override="$node" --node-ip=$gateway --v=2

##### the control plane. On all addresses, since an endpoint may not be a loopback: pods reach it by the bridge #######
issuer=https://kubernetes.default.svc.cluster.local
audit=()
if [ "${AUDIT:-no}" = yes ]; then
    printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' \
        'rules: [{level: Metadata}]' >audit.yaml
    audit=(--audit-policy-file=audit.yaml --audit-log-path="$folder/log/audit.log" --audit-log-maxsize=1000)
fi
launch apiserver "$bin/kube-apiserver" --etcd-servers="$etcd" --etcd-compaction-interval="${COMPACTION:-5m}" \
    --bind-address=0.0.0.0 --secure-port=6443 --insecure-port=0 --advertise-address=$gateway \
    --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --client-ca-file=pki/ca.crt \
    --cert-dir="$folder/pki" --kubelet-certificate-authority=pki/ca.crt \
    --kubelet-client-certificate=pki/apiserver-kubelet.crt --kubelet-client-key=pki/apiserver-kubelet.key \
    --kubelet-preferred-address-types=InternalIP --service-account-issuer=$issuer --api-audiences=$issuer \
    --service-account-signing-key-file=pki/sa.key --service-account-key-file=pki/sa.pub \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --service-cluster-ip-range=$service_network --endpoint-reconciler-type=master-count "${audit[@]}"
api_ready() { [ "$(curl -s --cacert pki/ca.crt https://127.0.0.1:6443/readyz)" = ok ]; }
node_ready() { [ "$(k get node $node -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]; }
wait_for 120 apiserver api_ready
launch controller-manager "$bin/kube-controller-manager" --kubeconfig=users/controller-manager --port=0 \
    --bind-address=127.0.0.1 --leader-elect=false --service-account-private-key-file=pki/sa.key \
    --root-ca-file=pki/ca.crt --cluster-signing-cert-file=pki/ca.crt --cluster-signing-key-file=pki/ca.key \
    --use-service-account-credentials=true --service-cluster-ip-range=$service_network \
    --pvclaimbinder-sync-period=1s --cert-dir="$folder/pki/controller-manager-own" --authentication-kubeconfig=users/controller-manager \
    --authorization-kubeconfig=users/controller-manager
launch scheduler "$bin/kube-scheduler" --kubeconfig=users/scheduler --bind-address=127.0.0.1 --port=0 \
    --leader-elect=false --cert-dir="$folder/pki/scheduler-own" --authentication-kubeconfig=users/scheduler \
    --authorization-kubeconfig=users/scheduler
cat >proxy.yaml <<CONFIG
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: $folder/users/proxy}
clusterCIDR: $pod_network
hostnameOverride: $node
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0}
CONFIG
launch proxy "$bin/kube-proxy" --config="$folder/proxy.yaml"
say "the API server answers"
wait_for 120 kubelet node_ready
say "the node is ready"
[ "${GPUS:-0}" = 0 ] || launch gpus "$bin/fakedp" nvidia.com/gpu "$GPUS"
wait_for 120 controller-manager k get serviceaccount default
wait $loading || fail "the images could not be loaded"
say "images loaded, pods can be made"
tell
