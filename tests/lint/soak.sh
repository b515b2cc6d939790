#!/usr/bin/env bash
# docs/soak.md has one row a proof; the records of a soak: tests/soak_record.py on made-up logs, and tests/soak.sh with
# one small proof.
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check "docs/soak.md has one row for each proof" python3 tests/soak_record.py docs/soak.md --check
mkdir -p "$folder/tests/unit/lib" "$folder/tests/e2e" "$folder/tests/fuzz"
touch "$folder"/tests/{unit/lib/test_a.c,e2e/test_b.sh,e2e/test_c.sh,fuzz/fuzz_onnx.c,fuzz/fuzz_rows.c}

make_page() {
    cat >"$folder/page.md" <<'PAGE'
# Soak

Before.

| Proof | Full count | Seed | Result | Date | Commit | Command |
|---|---|---|---|---|---|---|
| `tests/e2e/test_b.sh` | 200 runs | 1 | 5 passed, 0 failed, 7 s | 2026-01-01T00:00Z | aaaaaaa | `old \| command` |
| `tests/e2e/test_b.sh`, slow | 3 runs | 1, 2 | 6 passed | 2026-01-01T00:00Z | aaaaaaa, bbbbbbb | `old` |
| `tests/e2e/test_c.sh` | 3 runs | 1 | 6 passed, 0 failed, 7 s | 2026-01-01T00:00Z | aaaaaaa | `old` |

Between.

Without a long run so far: `onnx`, `tar`.

| Fuzzer | Runs | Seconds | Date | Commit | Command |
|---|---|---|---|---|---|
| gone | 5 | 600 | 2026-01-01T00:00Z | aaaaaaa | `old` |
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
    python3 tests/soak_record.py "$folder/page.md" --log "$folder/log" --fuzz "$folder/fuzz" --draws "$folder/draws" --tree "$folder" \
        --seed 42 --rounds 2000 --date 2026-02-02T10:00Z --commit bbbbbbb --command 'a | b' >"$folder/out" 2>"$folder/err"
}
has() { grep -qxF "$1" "$folder/page.md"; }

make_page
refused() {
    ! python3 tests/soak_record.py "$folder/page.md" --check --tree "$folder" >"$folder/out" &&
        [ "$(grep -c '^not ok' "$folder/out")" -eq 4 ] && grep -q 'fuzzer rows has no row' "$folder/out" && grep -q 'slow: there is no such proof' "$folder/out" &&
        grep -q 'slow: a row is one run' "$folder/out" && grep -q 'gone: there is no such proof' "$folder/out"
}
check "a second row of a proof, a fuzzer that is gone and one without a row are refused" refused
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
check "a fuzzer with a row is not among those without a run" has 'Without a long run so far: `tar`.'
check "rows of what is gone go; nothing else changes" count_rows
rm "$folder/tests/fuzz/fuzz_rows.c"
check "then the page is in order" python3 tests/soak_record.py "$folder/page.md" --check --tree "$folder"
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
# For git this tree is another one, in which the test says what is changed.
git init -q "$folder/repository"
echo 1 >"$folder/repository/file"
git -C "$folder/repository" add file
git -C "$folder/repository" -c user.name=x -c user.email=x@example.com commit -qm x
soak() {
    GIT_DIR=$folder/repository/.git GIT_WORK_TREE=$folder/repository SOAK_PAGE=$folder/page.md SOAK_PARTS=tests SOAK_ONLY=test_link SOAK_SEED=7 SOAK_ROUNDS=3 tests/soak.sh >"$folder/out" 2>&1
}
if [ -n "$proof" ]; then
    check "soak.sh runs the one proof that is asked for" soak
    check "and records it" grep -qE "^\| \`${proof#build/}\` \| SOAK_ROUNDS=3 \| 7 \| [0-9,]+ passed, 0 failed, [0-9]+ s \|[^|]*\| [0-9a-f]{8} \| \`SOAK_SEED=7 SOAK_ROUNDS=3 make soak\` \|$" "$folder/page.md"
    make_page
    cp "$folder/page.md" "$folder/before.md"
    echo 2 >"$folder/repository/file"
    check "it also runs in a tree with changes" soak
    check "and records nothing" cmp -s "$folder/page.md" "$folder/before.md"
    check "and says so" grep -q '^soak.sh: this tree has changes that are not committed: no row is recorded' "$folder/out"
else
    echo "skip soak.sh: test_link is not built"
fi
exit $((failures > 0))
