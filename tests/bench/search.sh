#!/usr/bin/env bash
# Random and Bayesian on ten functions, as they are and with half of the space failing: the median over seeds of the
# best of 60 trials (40 of 120 points in the finite space), four at once, and how many of them failed.
#   SEEDS=20
# Prints a table for docs/benchmarks/training.md; fails where Bayesian is worse than Random. Four minutes on one processor.
set -eu
cd "$(dirname "$0")/../.."
: "${SEEDS:=20}"
program=build/tests/unit/operator/kinds/sweep/search/test_search
make --no-print-directory $program
table=$(mktemp)
trap 'rm -f "$table"' EXIT
code=0
SEARCH_SEEDS=$SEEDS SEARCH_TABLE=$table $program >"$table.log" || code=$?
echo "| function | fails | least | Random | Bayesian | Random: failed | Bayesian: failed |"
echo "|---|---|---|---|---|---|---|"
cat "$table"
[ $code -eq 0 ] || cat "$table.log"
rm -f "$table.log"
exit $code
