#!/usr/bin/env bash
# Like test_exactly_once.sh, with inputs and outputs in buckets of Ceph's real gateway, behind a proxy that fails one
# request in ten and lists no result on its first day: tests/e2e/storage/once_cloud.sh, which has the variables.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
server=s3 batches_default=200
in=s3://films/tests/in out=s3://results/tests/out
stores='buckets: [{name: films, secretName: films, readOnly: true}, {name: results, secretName: results}]'
remote() { # WHAT BUCKET/PATH [LOCAL]
    python3 tests/s3/s3.py "$place" "$@" || exit 3
}
at() { WINDLASS_S3_ENDPOINT=https://127.0.0.1:$1; }
more_faults='[{"path": "/results.*list-type=2", "hideNewest": 86400}]'
. tests/e2e/storage/once_cloud.sh
hidden() { [ "$(jq '.hidden // 0' "$place/proxy/counts")" -gt 0 ]; }
check "lists lacked $(jq '.hidden // 0' "$place/proxy/counts") objects that were there" hidden
exit $((failures > 0))
