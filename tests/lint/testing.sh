#!/usr/bin/env bash
# docs/testing.md maps every end-to-end script and every conformance test to a promise, and names only existing tests.
cd "$(dirname "$0")/../.." || exit 3
bad=0
named=$(sed -n 's/^|\(.*\)|$/\1/p' docs/testing.md | grep -oE '\b(test|fuzz)_[a-z0-9_]+' | sort -u)
there=$(find tests/unit tests/conformance tests/e2e tests/cuda tests/fuzz -name 'test_*.c' -o -name 'test_*.sh' -o -name 'fuzz_*.c' |
    sed 's#.*/##; s/\.[a-z]*$//' | sort -u)
wanted=$(find tests/conformance tests/e2e -name 'test_*.c' -o -name 'test_*.sh' | sed 's#.*/##; s/\.[a-z]*$//' | sort -u)
for name in $(comm -23 <(echo "$named" | grep -v '_$') <(echo "$there")); do
    echo "not ok docs/testing.md names $name, which is not there"
    bad=1
done
for name in $(comm -13 <(echo "$named") <(echo "$wanted")); do
    echo "not ok docs/testing.md does not name $name"
    bad=1
done
[ $bad -eq 0 ] && echo "ok testing"
exit $bad
