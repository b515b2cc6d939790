#!/usr/bin/env bash
# The records of a soak: tests/soak_record.py on made-up logs, and tests/soak.sh with one small proof.
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

make_page() {
    cat >"$folder/page.md" <<'PAGE'
# Soak

Before.

| Proof | Full count | Seed | Result | Date | Commit | Command |
|---|---|---|---|---|---|---|
| `tests/e2e/test_b.sh` | 200 runs | 1 | 5 passed, 0 failed, 7 s | 2026-01-01T00:00Z | aaaaaaa | `old \| command` |
| `tests/e2e/test_c.sh` | 3 runs | 1 | 6 passed, 0 failed, 7 s | 2026-01-01T00:00Z | aaaaaaa | `old` |

Between.

| Fuzzer | Runs | Seconds | Date | Commit | Command |
|---|---|---|---|---|---|
| onnx | 5 | 600 | 2026-01-01T00:00Z | aaaaaaa | `old` |

Behind.
PAGE
    cat >"$folder/log" <<'LOG'
tests/unit/lib/test_a                                              12 ok   0 failed   3 s 12.3 s of processor
tests/e2e/test_b.sh                                              1234 ok   0 failed  61 s
skip something: why
tests/e2e/test_c.sh                                                 6 ok   1 failed   3 s
# failed: x
tests/unit/lib/test_quiet                                           9 ok   0 failed   1 s
tests/fuzz.sh                                                   1 ok   1 failed 600 s
1261 passed, 2 failed
LOG
    printf 'ok fuzz onnx 600s (Done 123456 runs)\nnot ok fuzz rows (build/fuzz/rows.log)\n' >"$folder/fuzz"
    printf 'tests/unit/lib/test_a\ntests/e2e/test_b.sh\ntests/e2e/test_c.sh\n' >"$folder/draws"
}
record() {
    python3 tests/soak_record.py "$folder/page.md" --log "$folder/log" --fuzz "$folder/fuzz" --draws "$folder/draws" \
        --seed 42 --rounds 2000 --date 2026-02-02T10:00Z --commit bbbbbbb --command 'a | b' >"$folder/out" 2>"$folder/err"
}
has() { grep -qxF "$1" "$folder/page.md"; }

make_page
check "a soak is recorded" record
check "a proof's row is replaced, its full count stays" has \
    '| `tests/e2e/test_b.sh` | 200 runs | 42 | 1,234 passed, 0 failed, 61 s | 2026-02-02T10:00Z | bbbbbbb | `a \| b` |'
check "a new proof that draws gets a row" has \
    '| `tests/unit/lib/test_a` | SOAK_ROUNDS=2000 | 42 | 12 passed, 0 failed, 3 s | 2026-02-02T10:00Z | bbbbbbb | `a \| b` |'
check "a proof that failed keeps its last passing run" has \
    '| `tests/e2e/test_c.sh` | 3 runs | 1 | 6 passed, 0 failed, 7 s | 2026-01-01T00:00Z | aaaaaaa | `old` |'
check "and is named" grep -qx 'not recorded, failed: tests/e2e/test_c.sh' "$folder/err"
no_quiet() { ! grep -q test_quiet "$folder/page.md"; }
check "a proof that draws nothing has no row" no_quiet
check "a fuzzer's row is replaced" has '| onnx | 123,456 | 600 | 2026-02-02T10:00Z | bbbbbbb | `a \| b` |'
check "a fuzzer that found something is named" grep -qx 'not recorded, failed: fuzz rows' "$folder/err"
count_rows() { [ "$(grep -c '^|' "$folder/page.md")" -eq 8 ] && has Before. && has Between. && has Behind.; }
check "nothing else changes" count_rows
cp "$folder/page.md" "$folder/once"
again() { record && cmp -s "$folder/once" "$folder/page.md"; }
check "the same soak again changes nothing" again
broken() { ! record && grep -q 'the page needs one table' "$folder/err" && cmp -s "$folder/page.md" "$folder/broken"; }
sed '/^| Fuzzer/d' "$folder/once" >"$folder/page.md"
cp "$folder/page.md" "$folder/broken"
check "a page without a table is refused and left as it is" broken

make_page
proof=build/tests/unit/agent/launch/gang/test_link
[ -x "$proof" ] || proof=$(find build/tests/unit -name test_link -type f | head -1)
soak() {
    SOAK_PAGE=$folder/page.md SOAK_PARTS=tests SOAK_ONLY=test_link SOAK_SEED=7 SOAK_ROUNDS=3 tests/soak.sh >"$folder/out" 2>&1
}
if [ -n "$proof" ]; then
    check "soak.sh runs the one proof that is asked for" soak
    check "and records it" grep -qE "^\| \`${proof#build/}\` \| SOAK_ROUNDS=3 \| 7 \| [0-9,]+ passed, 0 failed, [0-9]+ s \|.*\`SOAK_SEED=7 SOAK_ROUNDS=3 make soak\` \|$" "$folder/page.md"
else
    echo "skip soak.sh: test_link is not built"
fi
exit $((failures > 0))
