#!/usr/bin/env bash
# docs/testing/ maps every end-to-end script and every conformance test to a promise, and names only existing tests. A
# script ends by `exit`, with which tests/e2e/lib.sh verifies the outputs that it has made.
cd "$(dirname "$0")/../.." || exit 3
bad=0
named=$(sed -n 's/^|\(.*\)|$/\1/p' docs/testing/*.md | grep -oE '\b(test|fuzz)_[a-z0-9_]+' | sort -u)
there=$(find tests/unit tests/conformance tests/e2e tests/cuda tests/fuzz -name 'test_*.c' -o -name 'test_*.sh' -o -name 'fuzz_*.c' |
    sed 's#.*/##; s/\.[a-z]*$//' | sort -u)
wanted=$(find tests/conformance tests/e2e -name 'test_*.c' -o -name 'test_*.sh' | sed 's#.*/##; s/\.[a-z]*$//' | sort -u)
for name in $(comm -23 <(echo "$named" | grep -v '_$') <(echo "$there")); do
    echo "not ok docs/testing names $name, which is not there"
    bad=1
done
for name in $(comm -13 <(echo "$named") <(echo "$wanted")); do
    echo "not ok docs/testing does not name $name"
    bad=1
done
for script in $(grep -lE '^\. .*/lib\.sh' tests/e2e/*/test_*.sh); do
    tail -n 1 "$script" | grep -qE '^(builtin )?exit ' || { echo "not ok $script does not end by exit"; bad=1; }
done
[ $bad -eq 0 ] && echo "ok testing"
exit $bad
