#!/usr/bin/env bash
# s3:// beside curl and rclone (Debian's) on the same gateway of Ceph, over TLS: one object of BENCH_MIB (512) written and
# read, and BENCH_FILES (1000) small ones of 4 KB, BENCH_EACH (100) of them by a curl process each. They alternate
# BENCH_ROUNDS (5) times; prints the median of each, a second, and how many times as fast ours is as the other. curl
# reads and writes the large object in one request, small ones 16 at a time (-Z); rclone does what --transfers 16 does.
# The gateway and its storage run on the same processors as the clients: ratios above 1 are less than a network shows.
set -eu
cd "$(dirname "$0")/../.."
make -s CC="${CC:-gcc}" build/tests/azurite/store
work=$(mktemp -d)
s3=$work/s3
mib=${BENCH_MIB:-512} files=${BENCH_FILES:-1000} rounds=${BENCH_ROUNDS:-5} each=${BENCH_EACH:-100}
trap 'tests/s3/start.sh stop "$s3"; rm -rf "$work"' EXIT
rclone=$(tests/cluster/deb.sh rclone)/usr/bin/rclone
variables=$(tests/s3/start.sh start "$s3" $$)
while read -r line; do export "${line?}"; done <<<"$variables"
store=build/tests/azurite/store here=s3://films/bench
base=$WINDLASS_S3_ENDPOINT/films/bench
head -c "${mib}M" /dev/urandom >"$work/large"
mkdir "$work/small"
for number in $(seq -f %06g 0 $((files - 1))); do head -c 4000 /dev/urandom >"$work/small/$number"; done
cat >"$work/rclone.conf" <<CONFIG
[ceph]
type = s3
provider = Ceph
endpoint = $WINDLASS_S3_ENDPOINT
access_key_id = $(cat "$s3/admin/AWS_ACCESS_KEY_ID")
secret_access_key = $(cat "$s3/admin/AWS_SECRET_ACCESS_KEY")
CONFIG
config() { # FILE put|get NAMES...: for curl; no key is among the arguments
    local file=$1 name
    { echo "user = \"$(cat "$s3/admin/AWS_ACCESS_KEY_ID"):$(cat "$s3/admin/AWS_SECRET_ACCESS_KEY")\""
      for name in "${@:3}"; do
          echo "url = \"$base/curl/$name\""
          [ "$2" = get ] && echo 'output = "/dev/null"' || echo "upload-file = \"$work/$name\""
      done; } >"$file"
}
by_curl() { curl -sS --fail --cacert "$s3/ca.crt" --http1.1 --aws-sigv4 aws:amz:us-east-1:s3 -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"; }
by_rclone() { env -u AWS_CA_BUNDLE SSL_CERT_FILE="$s3/ca.crt" "$rclone" --config "$work/rclone.conf" --transfers 16 --checkers 16 --no-check-dest -q "$@"; }
mapfile -t names < <(seq -f 'small/%06g' 0 $((files - 1)))
for what in put get; do
    config "$work/$what-large" $what large
    config "$work/$what-many" $what "${names[@]}"
    for number in $(seq 0 $((each - 1))); do config "$work/$what-$number" $what "${names[number]}"; done
done
one_each() { for number in $(seq 0 $((each - 1))); do by_curl -K "$work/$1-$number"; done; }
many() { by_curl -Z --no-progress-meter --parallel-max 16 -K "$work/$1-many"; }
got() { rm -rf "$work/got" && by_rclone copy ceph:films/bench/rclone/small "$work/got"; }
note() { # NAME AMOUNT COMMAND...: how much of it a second
    local start=$EPOCHREALTIME
    "${@:3}" >/dev/null
    awk "BEGIN { print $2 / ($EPOCHREALTIME - $start) }" >>"$work/rate-$1"
}
for _ in $(seq "$rounds"); do
    note write-curl "$mib" by_curl -K "$work/put-large"
    note write-rclone "$mib" by_rclone copyto "$work/large" ceph:films/bench/rclone/large
    note write-ours "$mib" $store upload $here ours $((mib << 20))
    note read-curl "$mib" by_curl -K "$work/get-large"
    note read-rclone "$mib" by_rclone cat ceph:films/bench/rclone/large
    note read-ours "$mib" $store read $here ours $((64 << 20))
    note put-each "$each" one_each put
    note put-curl "$files" many put
    note put-rclone "$files" by_rclone copy "$work/small" ceph:films/bench/rclone/small
    note put-ours "$files" $store fill $here "$files" 4000 16
    note get-each "$each" one_each get
    note get-curl "$files" many get
    note get-rclone "$files" got
    note get-ours "$files" $store drain $here "$files" 16
done
median() { sort -g "$work/rate-$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
row() { # WHAT KIND OTHER
    awk -v what="$1" -v ours="$(median "$2-ours")" -v other="$(median "$2-$3")" 'BEGIN { printf "%-44s %9.1f %9.1f %7.2f\n", what, ours, other, ours / other }'
}
printf '%-44s %9s %9s %7s\n' "Ceph 16, TLS, $(nproc) processors" ours other ratio
for kind in write read; do
    row "$mib MiB, $kind, MiB/s, curl" $kind curl
    row "$mib MiB, $kind, MiB/s, rclone" $kind rclone
done
for kind in put get; do
    row "4 KB, $kind a second, a curl process each" $kind each
    row "4 KB, $kind a second, curl -Z, 16 at a time" $kind curl
    row "4 KB, $kind a second, rclone, 16 at a time" $kind rclone
done
