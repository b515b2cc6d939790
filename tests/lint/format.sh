#!/usr/bin/env bash
# clang-format leaves every source unchanged, and no banned function is called.
cd "$(dirname "$0")/../.." || exit 3
bad=0
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' | grep -E '^(lib|operator|agent|tests)/')
clang-format --dry-run -Werror "${files[@]}" 2>&1 | grep -E 'error' | head -20 | sed 's/^/not ok /'
[ "${PIPESTATUS[0]}" -eq 0 ] || bad=1
banned=$(grep -nE '\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|gmtime|localtime|asctime|ctime|getpwuid|getpwnam|gethostbyname|inet_ntoa|gets|usleep)\(' "${files[@]}")
[ -z "$banned" ] || { echo "$banned" | sed 's/^/not ok banned call: /'; bad=1; }
[ $bad -eq 0 ] && echo "ok format"
exit $bad
