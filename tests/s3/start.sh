#!/usr/bin/env bash
# Ceph's object gateway over TLS, in a separate folder:
#   start.sh start FOLDER [PID]   starts it, with the buckets films and results; prints the environment (NAME=VALUE lines)
#                                 in which stores find it. It ends with PID.
#   start.sh roles FOLDER         starts a second gateway to the same buckets, at FOLDER/roles.port, that takes keys of
#                                 roles, too; of wrong keys it does not say what is wrong
#   start.sh google FOLDER        starts Google's interface to the same buckets (google.py), at FOLDER/google.port
#   start.sh stop FOLDER          ends them; nothing remains, since their data are in memory
# FOLDER/{port,ca.crt}, FOLDER/admin/AWS_... for s3.py, and FOLDER/stores/s3-BUCKET/AWS_{ACCESS_KEY_ID,SECRET_ACCESS_KEY}, as a mounted Secret. The
# certificate is for 127.0.0.1 and *.s3.windlass.test.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cluster/lib.sh"
what=${1:?start, roles, google or stop}
mkdir -p "${2:?a folder}"
folder=$(cd "$2" && pwd)
if [ "$what" = stop ]; then
    for name in google roles gateway storage monitor; do finish $name KILL; done
    exit 0
fi
if [ "$what" = google ]; then
    finish google KILL
    rm -f "$folder/google.port"
    launch google python3 "$here/google.py" "$folder"
    wait_for 60 google [ -s "$folder/google.port" ] || fail "Google's interface does not start"
    exit 0
fi
root=$("$here/get.sh")
command -v openssl >/dev/null && command -v python3 >/dev/null || need_packages openssl python3
command -v curl >/dev/null || need_packages curl
libraries=$root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libraries:$libraries/ceph:$root/usr/lib:$root/lib/x86_64-linux-gnu
export PYTHONPATH=$root/usr/lib/python3/dist-packages PATH=$root/usr/bin:$PATH
cd "$folder"
gateway() { # NAME PORT OPTIONS...: and waits until it listens
    launch "$1" radosgw -c ceph.conf -n client.rgw -f --log_file "$folder/ceph/$1.log" "${@:3}" \
        --rgw_frontends "beast ssl_endpoint=127.0.0.1:$2 ssl_certificate=$folder/server.crt ssl_private_key=$folder/server.key"
    wait_for 60 "$1" bash -c "exec 3<>/dev/tcp/127.0.0.1/$2" || fail "the gateway does not start"
}
if [ "$what" = roles ]; then
    finish roles KILL
    port=$(free_port)
    gateway roles "$port" --rgw_s3_auth_use_sts true --rgw_sts_key "$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \n')"
    echo "$port" >roles.port
    exit 0
fi
for name in google roles gateway storage monitor; do finish $name KILL; done # those that still run would hold the ports
rm -rf ceph && mkdir -p ceph/{monitor,storage,gateway,run}
authority windlass-test
certificate server /CN=s3 "DNS:*.s3.windlass.test,IP:127.0.0.1"
cat server.crt server.key >server.pem
port=$(free_port) monitor=$(free_port)
id=$(cat /proc/sys/kernel/random/uuid) storage=$(cat /proc/sys/kernel/random/uuid)
# One copy, one placement group a pool, no login; Paxos does not wait to collect proposals. Without the modes crc the
# gateway asks for an encryption that a monitor without logins does not offer.
cat >ceph.conf <<CONFIG
[global]
fsid = $id
mon_host = [v2:127.0.0.1:$monitor/0]
mon_initial_members = a
public_network = 127.0.0.0/8
ms_bind_ipv6 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_mon_service_mode = crc
ms_mon_cluster_mode = crc
ms_client_mode = crc
ms_service_mode = crc
ms_cluster_mode = crc
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
mon_allow_pool_size_one = true
mon_cluster_log_to_file = false
mgr_initial_modules =
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_objectstore = memstore
memstore_device_bytes = 2147483648
osd_class_dir = $libraries/rados-classes
erasure_code_dir = $libraries/ceph/erasure-code
plugin_dir = $libraries/ceph
mon_data = $folder/ceph/monitor
osd_data = $folder/ceph/storage
rgw_data = $folder/ceph/gateway
run_dir = $folder/ceph/run
log_file = $folder/ceph/\$name.log
log_to_stderr = false
admin_socket =
pid_file =
rgw_override_bucket_index_max_shards = 1
rgw_dynamic_resharding = false
rgw_run_sync_thread = false
rgw_enable_quota_threads = false
CONFIG
monmaptool --create --clobber --fsid "$id" --addv a "[v2:127.0.0.1:$monitor]" monitors >/dev/null
ceph-mon -c ceph.conf --mkfs -i a --monmap monitors
launch monitor ceph-mon -c ceph.conf -i a -f
# The command `ceph` without its program of Python 3.11, which has another machine's path.
python3 - "$storage" <<'PYTHON'
import json, sys
import rados
cluster = rados.Rados(conffile="ceph.conf")
cluster.connect(timeout=60)
code, _, text = cluster.mon_command(json.dumps({"prefix": "osd new", "uuid": sys.argv[1]}), b"")
cluster.shutdown()
sys.exit(text if code else 0)
PYTHON
ceph-osd -c ceph.conf --mkfs -i 0 --osd-uuid "$storage" >ceph/mkfs.log 2>&1
launch storage ceph-osd -c ceph.conf -i 0 -f
gateway gateway "$port"
key=WINDLASSTEST$(head -c 4 /dev/urandom | od -An -tx1 | tr -d ' \n' | tr a-f A-F)
secret=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
timeout 60 radosgw-admin -c ceph.conf user create --uid windlass --display-name windlass --access-key "$key" \
    --secret-key "$secret" --caps "oidc-provider=*" >ceph/user.log 2>&1 || fail "no user can be made: $(tail -1 ceph/user.log)"
mkdir -p admin
(umask 077 && printf %s "$key" >admin/AWS_ACCESS_KEY_ID && printf %s "$secret" >admin/AWS_SECRET_ACCESS_KEY)
for bucket in films results; do
    mkdir -p "stores/s3-$bucket"
    (umask 077 && printf %s "$key" >"stores/s3-$bucket/AWS_ACCESS_KEY_ID" && printf %s "$secret" >"stores/s3-$bucket/AWS_SECRET_ACCESS_KEY")
    env -u LD_LIBRARY_PATH curl -sS --fail --cacert ca.crt --aws-sigv4 aws:amz:us-east-1:s3 -H "x-amz-content-sha256: UNSIGNED-PAYLOAD" -K <(echo "user = \"$key:$secret\"") -X PUT \
        "https://127.0.0.1:$port/$bucket" >&2 || fail "the bucket $bucket cannot be made"
done
echo "$port" >port
[ -z "${3:-}" ] || end_with "$3"
cat <<VARIABLES
WINDLASS_S3_ENDPOINT=https://127.0.0.1:$port
WINDLASS_AUTHORITIES=$folder/ca.crt
WINDLASS_STORES_FOLDER=$folder/stores
VARIABLES
