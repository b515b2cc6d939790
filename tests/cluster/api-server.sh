#!/usr/bin/env bash
# A real kube-apiserver 1.20 on its own etcd, on free ports of 127.0.0.1, everything in one folder; no kubelet, no
# scheduler: pods can be created and their status written, but nothing runs them. Many servers can run at once (400 MB
# each).
#   api-server.sh start FOLDER [OPTION...] [-- FLAG-OF-KUBE-APISERVER...]
#       --controller-manager   also starts what `controller-manager FOLDER` starts
#       --kinds                with the kinds of crds/, which are served at once: etcd begins with a copy of a store to which
#                              they were applied, which is kept in the cache
#       --owner PID            ends everything when that process has ended
#     makes FOLDER/kubeconfig (administrator), FOLDER/token (the same by bearer token),
#     FOLDER/kubectl ARGUMENT..., FOLDER/curl PATH [curl's options], FOLDER/port
#   api-server.sh controller-manager FOLDER [FLAG...]
#       garbage collection by ownerReferences, Jobs, namespaces, service accounts. The collector looks for new kinds
#       every 30 s: apply CRDs before this.
#   api-server.sh restart FOLDER   restarts the API server alone, cleanly; watches from before it get 410 Gone
#   api-server.sh kill FOLDER      ends the API server alone by kill -9; `restart` brings it back on the same port
#   api-server.sh pause FOLDER | resume FOLDER    it stops answering, connections stay open
#   api-server.sh compact FOLDER   etcd forgets every revision but the newest
#   api-server.sh stop FOLDER
set -euo pipefail
# The servers of Kubernetes collect garbage seldom, until they have 1 GiB: memory for processor time. (With more than 200 MiB
# alive that is more often than usual: benches of many objects set their own.)
export GOGC=${GOGC:-1600} GOMEMLIMIT=${GOMEMLIMIT:-1GiB}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
what=${1:?start, controller-manager, restart, kill, pause, resume, compact or stop} folder=${2:?the folder}
shift 2

stop_all() { for name in controller-manager apiserver etcd; do finish $name KILL; done; }
ready() { [ "$("$folder/curl" /readyz 2>/dev/null)" = ok ]; }
served() { "$folder/curl" /apis/windlass.dev/v1beta1 -f | grep '"sweeps"' >/dev/null; } # the last of crds/
start_api_server() {
    launch apiserver sh "$folder/apiserver.command"
    wait_for 180 apiserver ready
}
controller_manager() {
    cd "$folder/pki"
    launch controller-manager "$bin/kube-controller-manager" --kubeconfig="$folder/kubeconfig" --port=0 \
        --secure-port=0 --leader-elect=false --service-account-private-key-file=sa.key --root-ca-file=ca.crt \
        --controllers=garbagecollector,job,namespace,serviceaccount,serviceaccount-token "$@"
    wait_for 60 controller-manager "$folder/curl" /api/v1/namespaces/default/serviceaccounts/default -f -o /dev/null
}
etcd_call() { curl -sS --max-time 30 "http://127.0.0.1:$(cat "$folder/etcd-port")/v3/kv/$1" -d "$2"; }
# The folder of an etcd whose API server has served the kinds of crds/, and has ended. It is made once for each version of
# them; one that no script has taken for a week is removed.
kept_etcd() {
    local root kept work
    root=$(cd "$here/../.." && pwd)
    kept=$cache/etcd/$(cat "$root"/crds/*.yaml "$bin/kubernetes.recipe" "$here/api-server.sh" <(dpkg-query -W etcd-server) | sha256sum | cut -c1-32)
    mkdir -p "$cache/etcd"
    exec 9>"$cache/etcd.lock"
    flock 9
    if [ ! -d "$kept" ]; then
        work=$(mktemp -d -p "$cache")
        ("$here/api-server.sh" start "$work/api" --owner $$ && "$here/api-server.sh" apply-kinds "$work/api" "$root/crds" &&
            cp -r --sparse=always "$work/api/etcd" "$work/kept" && mv "$work/kept" "$kept") >"$work/log" 2>&1 9>&- || { tail -n 3 "$work/log" >&2; rm -rf "$work"; return 3; }
        rm -rf "$work"
        find "$cache/etcd" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
    fi
    touch "$kept"
    exec 9>&-
    echo "$kept"
}
apply_kinds() { # FOLDER: applies what is there, waits, and ends both servers, as a store is left that can be copied
    local established=0
    "$folder/kubectl" apply --validate=false -f "$1" >/dev/null || return
    for _ in $(seq 120); do
        if "$folder/kubectl" wait --for=condition=Established --timeout=60s crd --all >/dev/null 2>&1; then established=1; break; fi
        sleep 0.5
    done
    finish apiserver TERM 2
    finish etcd TERM
    [ $established = 1 ] || fail "the kinds are not established"
}
compact() {
    local revision
    revision=$(etcd_call range '{"key":"AA=="}' | jq -r .header.revision)
    etcd_call compaction "{\"revision\":\"$revision\",\"physical\":true}" | jq -e .header.revision >/dev/null ||
        fail "etcd did not compact"
}

if [ "$what" != start ]; then
    folder=$(cd "$folder" 2>/dev/null && pwd) || { [ "$what" = stop ] && exit 0; fail "no folder"; }
    case $what in
    stop) stop_all ;;
    controller-manager) controller_manager "$@" ;;
    kill) finish apiserver KILL ;;
    restart) finish apiserver TERM 2; start_api_server ;; # (it would wait a minute for open watches)
    pause) kill -STOP "$(cat "$folder/pids/apiserver.pid")" ;;
    resume) kill -CONT "$(cat "$folder/pids/apiserver.pid")" ;;
    compact) compact ;;
    apply-kinds) apply_kinds "$1" ;; # (of kept_etcd)
    *) fail "'$what' is none of start, controller-manager, restart, kill, pause, resume, compact, stop" ;;
    esac
    exit
fi

with_manager='' with_kinds='' owner='' flags=()
while [ $# -gt 0 ]; do
    case $1 in
    --controller-manager) with_manager=1 ;;
    --kinds) with_kinds=1 ;;
    --owner) owner=${2:?--owner takes a process number}; shift ;;
    --) shift; flags=("$@"); break ;;
    *) fail "'$1' is none of --controller-manager, --kinds, --owner PID, --" ;;
    esac
    shift
done
need_packages etcd-server openssl curl jq
"$here/build-kubernetes.sh" >/dev/null || exit 3
mkdir -p "$folder"/{pki,log,pids}
folder=$(cd "$folder" && pwd)
trap 'code=$?; [ $code -eq 0 ] || stop_all' EXIT
if [ -n "$with_kinds" ]; then
    kept=$(kept_etcd) && cp -r --sparse=always "$kept" "$folder/etcd" || fail "no store with the kinds of crds/"
fi

cd "$folder/pki"
authority windlass-test
certificate server /CN=kube-apiserver "DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1"
certificate admin /O=system:masters/CN=admin
service_account_key
echo windlass-test-token >"$folder/token"
echo "$(cat "$folder/token"),admin-by-token,1,system:masters" >tokens.csv
port=$(free_port) etcd_port=$(free_port) peer_port=$(free_port)
echo "$port" >"$folder/port"
echo "$etcd_port" >"$folder/etcd-port"
kubeconfig "https://127.0.0.1:$port" "$folder/pki" admin >"$folder/kubeconfig"
cat >"$folder/curl" <<SCRIPT
#!/bin/sh
path=\$1
shift
cd "$folder/pki" || exit
exec curl -sS --max-time 30 --cacert ca.crt --cert admin.crt --key admin.key "\$@" "https://127.0.0.1:$port\$path"
SCRIPT
cat >"$folder/kubectl" <<SCRIPT
#!/bin/sh
exec "\${KUBECTL:-$bin/kubectl}" --kubeconfig "$folder/kubeconfig" "\$@"
SCRIPT
chmod +x "$folder/curl" "$folder/kubectl"

etcd=http://127.0.0.1:$etcd_port peer=http://127.0.0.1:$peer_port
launch etcd etcd --name n --data-dir "$folder/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --quota-backend-bytes 8000000000 \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "n=$peer"
issuer=https://kubernetes.default.svc
# Of beta, only what is used (flow control, evictions and disruption budgets): each start and each change of a kind then
# costs a quarter less.
[[ " ${flags[*]} " == *" --runtime-config="* ]] || flags+=(--runtime-config=api/beta=false,flowcontrol.apiserver.k8s.io/v1beta1=true,policy/v1beta1=true)
# The admission plug-in ServiceAccount would refuse every pod until a controller has made the account.
command=("$bin/kube-apiserver" --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$port" --insecure-port=0
    --endpoint-reconciler-type=none --tls-cert-file=server.crt --tls-private-key-file=server.key
    --client-ca-file=ca.crt --token-auth-file=tokens.csv --cert-dir="$folder/pki" --authorization-mode=RBAC
    --service-account-issuer=$issuer --api-audiences=$issuer --service-account-signing-key-file=sa.key
    --service-account-key-file=sa.pub --disable-admission-plugins=ServiceAccount --allow-privileged=true
    --service-cluster-ip-range=10.96.0.0/16 "${flags[@]}")
printf 'cd %q && exec %s\n' "$folder/pki" "$(printf ' %q' "${command[@]}")" >"$folder/apiserver.command"
start_api_server
[ -z "$with_kinds" ] || wait_for 60 apiserver served
[ -z "$with_manager" ] || controller_manager
[ -z "$owner" ] || end_with "$owner"
echo "$folder/kubeconfig"
