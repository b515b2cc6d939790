#!/usr/bin/env bash
# Runs test programs and scripts one after the other and counts their lines:
#   run.sh PROGRAM...   "ok x" passes, "not ok x" fails, "skip x: why" is shown.
# A program that exits non-zero without a "not ok" line (a crash, a sanitizer's report) fails once.
# Ends with the one line that says it all: "N passed, N failed".
set -u
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
    start=$SECONDS
    case $program in
    *.sh) timeout "${TEST_TIMEOUT:-900}" bash "$program" >"$log" 2>&1 ;;
    *) timeout "${TEST_TIMEOUT:-900}" "$program" >"$log" 2>&1 ;;
    esac
    code=$?
    p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
    if [ $code -ne 0 ] && [ "$f" -eq 0 ]; then f=1; echo "not ok $program: exit code $code" >>"$log"; fi
    if [ "$code" -eq 0 ] && [ $((p + f + s)) -eq 0 ]; then f=1; echo "not ok $program: printed no result" >>"$log"; fi
    printf '%-64s %4d ok %3d failed %3d s\n' "${program#build/}" "$p" "$f" $((SECONDS - start))
    grep '^skip ' "$log"
    [ "$f" -eq 0 ] || grep -v '^ok ' "$log" | tail -n 60
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
