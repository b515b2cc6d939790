#!/usr/bin/env bash
# clang-format leaves every source unchanged, and no banned function is called. The texts that passed are remembered by
# their hashes and paths in ~/.cache/windlass/format, for this version of clang-format, this .clang-format and this
# script. (By paths, too: which include comes first depends on a file's name.) What cannot be remembered is checked anew.
cd "$(dirname "$0")/../.." || exit 3
export LC_ALL=C
bad=0 files=() hashes=() left=()
while read -r file; do [ ! -f "$file" ] || files+=("$file"); done < <(
    git ls-files -co --exclude-standard '*.c' '*.h' | grep -E '^(lib|operator|agent|tests)/')
[ ${#files[@]} -eq 0 ] || mapfile -t hashes < <(sha256sum "${files[@]}" | sort)
if [ ${#files[@]} -eq 0 ] || [ ${#hashes[@]} -ne ${#files[@]} ]; then
    echo "not ok format: ${#hashes[@]} of ${#files[@]} sources could be read"
    exit 1
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/format
passed=$cache/$({ clang-format --version && cat .clang-format tests/lint/format.sh; } | sha256sum | cut -d' ' -f1)
{ mkdir -p "$cache" && touch "$passed"; } 2>/dev/null || passed=/dev/null
new=$(comm -23 <(printf '%s\n' "${hashes[@]}") <(sort "$passed")) || new=$(printf '%s\n' "${hashes[@]}")
[ -z "$new" ] || mapfile -t left <<<"$new"
if [ ${#left[@]} -gt 0 ]; then
    if found=$(clang-format --dry-run -Werror "${left[@]#*  }" 2>&1); then
        printf '%s\n' "${left[@]}" >>"$passed"
    else
        bad=1
        { grep -E 'error' <<<"$found" || echo "$found"; } | head -20 | sed 's/^/not ok /'
    fi
fi
banned=$(grep -nE '\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|gmtime|localtime|asctime|ctime|getpwuid|getpwnam|gethostbyname|inet_ntoa|gets|usleep)\(' "${files[@]}")
[ -z "$banned" ] || { echo "$banned" | sed 's/^/not ok banned call: /'; bad=1; }
[ $bad -eq 0 ] && echo "ok format"
exit $bad
