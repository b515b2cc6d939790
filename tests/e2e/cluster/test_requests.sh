#!/usr/bin/env bash
# What a job asks the API server for, from apply to its end: no request more than is known (docs/benchmarks.md).
# SOAK_ROUNDS (8): jobs of each kind, at most 40.
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rounds=${SOAK_ROUNDS:-8}
JOBS=$((rounds < 40 ? rounds : 40)) KINDS="batchscore disttrain" bash tests/bench/controller_requests.sh >"$log" 2>&1
code=$?
sed 's/^/# /' "$log"
check "no request more than is known for a BatchScore and a DistTrain of two pods" [ $code -eq 0 ]
for verb in get list update; do
    check "none of them is a $verb" eval "! grep -q '^ .* $verb ' '$log'"
done
check "and no object is made but pods, Service, Secret, NetworkPolicy and Event" \
    [ "$(awk '$2 == "create" { print $3 }' "$log" | sort -u | tr -d ',\n')" = "eventsnetworkpoliciespodssecretsservices" ]
exit $((failures > 0))
