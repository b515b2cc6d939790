#!/usr/bin/env bash
# A Sweep's Gaussian process has the same posterior as scikit-learn's, to 1e-6, with kernel and noise fixed; `make soak`
# (SOAK_ROUNDS): that many seeds.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-numpy python3-sklearn) || exit 3
program=${BUILD:-build}/tests/unit/operator/kinds/sweep/search/test_gaussian
built "$program" || exit 3
seed=${SOAK_SEED:-1}
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
check "posteriors are scikit-learn's" /usr/bin/python3 tests/e2e/sweep/sweep_gp.py "$program" "$seed" "${SOAK_ROUNDS:-2}"
exit $((failures > 0))
