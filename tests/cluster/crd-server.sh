#!/usr/bin/env bash
# Starts a real API server for custom resources (build-crd-server.sh) on etcd, on free ports of
# 127.0.0.1, everything in one folder:
#   crd-server.sh start FOLDER [POLICIES]     then FOLDER/curl PATH [curl's options] sends a request as an administrator
#     POLICIES: a file with a list of ValidatingAdmissionPolicies and Bindings that hold there, as JSON (core_api.py)
#   crd-server.sh stop FOLDER
# It has schemas, defaults, CEL, status and watches, but no Pods, Secrets or Namespaces.
set -euo pipefail
# The servers collect garbage seldom, until they have 1 GiB: memory for processor time.
export GOGC=${GOGC:-1600} GOMEMLIMIT=${GOMEMLIMIT:-1GiB}
here=$(cd "$(dirname "$0")" && pwd)
what=${1:?start or stop} folder=${2:?the folder} policies=${3:-}

stop() {
    local name pid
    for name in server etcd core; do
        pid=$(cat "$folder/$name.pid" 2>/dev/null) || continue
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$pid" 2>/dev/null || true
        rm -f "$folder/$name.pid"
    done
}
fail() { echo "crd-server.sh: $1" >&2; stop; exit 3; }
free_port() {
    local port
    for _ in $(seq 100); do
        port=$((20000 + RANDOM % 10000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
    return 1
}
certificate() { # NAME SUBJECT EXTENSIONS
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/$1.key" -subj "$2" \
        -out "$folder/$1.csr"
    openssl x509 -req -in "$folder/$1.csr" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -CAcreateserial \
        -days 2 -out "$folder/$1.crt" -extfile <(printf '%s\n' "$3")
}

[ "$what" = start ] || { stop; exit 0; }
program=$("$here/build-crd-server.sh") || exit 3
command -v etcd >/dev/null || fail "etcd is missing (package etcd-server)"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/ca.key" \
        -subj /CN=test-ca -days 2 -out "$folder/ca.crt"
    certificate server /CN=server $'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth'
    certificate client /O=system:masters/CN=test extendedKeyUsage=clientAuth
} >"$folder/openssl.log" 2>&1 || fail "openssl: $(tail -1 "$folder/openssl.log")"
etcd_port=$(free_port) peer_port=$(free_port) port=$(free_port)
cat >"$folder/kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$port", certificate-authority: $folder/ca.crt}}]
users: [{name: test, user: {client-certificate: $folder/client.crt, client-key: $folder/client.key}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
CONFIG
etcd --data-dir "$folder/etcd" --unsafe-no-fsync --log-level warn --logger zap \
    --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
    --listen-peer-urls "http://127.0.0.1:$peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
    --initial-cluster "default=http://127.0.0.1:$peer_port" >"$folder/etcd.log" 2>&1 &
echo $! >"$folder/etcd.pid"
core=$folder/kubeconfig off=,ValidatingAdmissionPolicy
if [ -n "$policies" ]; then
    core=$folder/core.kubeconfig off='' core_port=$(free_port)
    sed "s|server: .*}}|server: \"http://127.0.0.1:$core_port\"}}|" "$folder/kubeconfig" >"$core"
    python3 "$here/core_api.py" "$core_port" "$policies" >"$folder/core.log" 2>&1 &
    echo $! >"$folder/core.pid"
fi
"$program" --etcd-servers="http://127.0.0.1:$etcd_port" --secure-port="$port" --bind-address=127.0.0.1 \
    --tls-cert-file="$folder/server.crt" --tls-private-key-file="$folder/server.key" \
    --client-ca-file="$folder/ca.crt" --authentication-skip-lookup \
    --authentication-kubeconfig="$folder/kubeconfig" --authorization-kubeconfig="$folder/kubeconfig" \
    --kubeconfig="$core" --enable-priority-and-fairness=false \
    --disable-admission-plugins="NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,MutatingAdmissionPolicy$off" \
    >"$folder/server.log" 2>&1 &
echo $! >"$folder/server.pid"
cat >"$folder/curl" <<SCRIPT
#!/bin/sh
path=\$1
shift
exec curl -sS --max-time 30 --cacert $folder/ca.crt --cert $folder/client.crt --key $folder/client.key "\$@" "https://127.0.0.1:$port\$path"
SCRIPT
chmod +x "$folder/curl"
for _ in $(seq 300); do
    kill -0 "$(cat "$folder/server.pid")" 2>/dev/null || fail "the server ended: $(tail -1 "$folder/server.log")"
    # /readyz as a whole waits for Services, which this server does not have.
    if [ "$("$folder/curl" /readyz/poststarthook/crd-informer-synced 2>/dev/null)" = ok ]; then exit 0; fi
    sleep 0.1
done
fail "the server is not ready after 30 s; see $folder/server.log"
