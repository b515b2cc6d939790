#!/usr/bin/env bash
# clang-format leaves every source unchanged, and no banned function is called. The texts that passed are remembered by
# their hashes in ~/.cache/windlass/format, for this version of clang-format and this .clang-format.
cd "$(dirname "$0")/../.." || exit 3
bad=0
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' | grep -E '^(lib|operator|agent|tests)/')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/format
passed=$cache/$({ clang-format --version && cat .clang-format; } | sha256sum | cut -d' ' -f1)
mkdir -p "$cache" && touch "$passed"
mapfile -t left < <(sha256sum "${files[@]}" | awk 'FILENAME != "-" { known[$1]; next } !($1 in known) { print $1, $2 }' "$passed" -)
if [ ${#left[@]} -gt 0 ]; then
    if found=$(clang-format --dry-run -Werror "${left[@]#* }" 2>&1); then
        printf '%s\n' "${left[@]%% *}" >>"$passed"
    else
        bad=1
        grep -E 'error' <<<"$found" | head -20 | sed 's/^/not ok /'
    fi
fi
banned=$(grep -nE '\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|gmtime|localtime|asctime|ctime|getpwuid|getpwnam|gethostbyname|inet_ntoa|gets|usleep)\(' "${files[@]}")
[ -z "$banned" ] || { echo "$banned" | sed 's/^/not ok banned call: /'; bad=1; }
[ $bad -eq 0 ] && echo "ok format"
exit $bad
