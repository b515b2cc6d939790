#!/usr/bin/env bash
# Ends only what up.sh started, and restores the host. Built programs stay in the cache.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/env.sh"
. "$here/accounts.sh"
[ -d "$folder/pids" ] || { echo "no cluster in $folder" >&2; exit 0; }
[ "$(id -u)" = 0 ] || fail "needs root, so as root: make cluster-down"

finish kubelet
finish gpus
# Pods are removed through containerd, which also removes shims, cgroups, mounts and network namespaces.
if running containerd; then
    each() { "${ctr[@]}" "$@" -q 2>/dev/null; }
    for task in $(each tasks ls); do "${ctr[@]}" tasks kill -s KILL "$task" >/dev/null 2>&1; done
    for _ in $(seq 20); do
        each tasks ls | grep . >/dev/null || break
        for task in $(each tasks ls); do "${ctr[@]}" tasks rm -f "$task" >/dev/null 2>&1; done
        sleep 0.1
    done
    for container in $(each containers ls); do "${ctr[@]}" containers rm "$container" >/dev/null 2>&1; done
fi
finish proxy
finish scheduler
finish controller-manager
finish apiserver TERM 1 # it would wait a minute for open watches
finish etcd
finish containerd
awk -v below="$folder/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r mount; do umount "$mount" 2>/dev/null || umount -l "$mount"; done

# Removes the namespaces that CNI made, kube-proxy's and kubelet's chains, the bridge. Only lines with KUBE- are
# removed: other rules are loaded back unchanged.
for container in "$folder"/cni/state/windlass/10.*; do
    [ -f "$container" ] && rm -f "/var/lib/cni/results/windlass-$(head -1 "$container" | tr -d '\r')-eth0"
done
for namespace in /run/netns/cni-*; do
    [ -e "$namespace" ] && { umount "$namespace" 2>/dev/null; rm -f "$namespace"; }
done
[ -x "$bin/kube-proxy" ] && "$bin/kube-proxy" --cleanup >/dev/null 2>&1
for table in mangle filter nat; do
    iptables-save -t $table 2>/dev/null | grep -v KUBE- | iptables-restore -T $table 2>/dev/null
done
ip link del "$bridge" 2>/dev/null
[ -f "$folder/sysctl.before" ] && sysctl -qp "$folder/sysctl.before"
if [ -d "${WINDLASS_SHARED:-}" ]; then # for the table of tests/run.sh
    for cgroup in /sys/fs/cgroup/cpuacct/kubepods /sys/fs/cgroup/kubepods; do worked_in $cgroup; done >"$WINDLASS_SHARED/pods"
fi
for cgroup in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
    [ -d "$cgroup" ] && find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
done
rm -f /var/lib/cni/results/{cni-loopback,windlass}-* /var/lib/kubelet/device-plugins/*
rm -rf "${folder:?}" /var/log/pods /var/log/containers
exit 0
