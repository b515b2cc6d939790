#!/usr/bin/env bash
# A kind is one row: outside operator/kinds/ no source of operator/ and lib/ names one, in code, in
# strings or in includes. Comments may, and so may paths below examples/ in texts of help.
# Nor does a text there have a word that only some kinds have: reasons, advice and names of roles are
# data of a kind's row. The exceptions are texts that users know: the option --coordinator and the
# field in an example, the names of metrics, which are all in one file, and the command `sweep`.
# agent/ decides nothing by a kind: a pod gets its part of a spec (WINDLASS_SPEC) and a subcommand.
# Its messages may mention kinds; a kind's name as a value is in agent/result/result_file.h alone,
# since result.json records it.
cd "$(dirname "$0")/../.." || exit 3

# Prints a line for each line of the file that names a kind.
find_names() { # FILE, NAME TO SHOW
    awk -v file="$2" '
        { line = $0
          if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
          gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
          if (sub(/\/\*.*$/, "", line)) inside = 1
          sub(/^[ \t]*\/\/.*$/, "", line)
          gsub(/examples\/[A-Za-z0-9_\/.-]*/, "", line)
          if (line ~ /BatchScore|DistTrain|Sweep|batchscore|disttrain|sweep|is_gang|is_sweep/)
              printf "not ok %s:%d names a kind: %s\n", file, NR, $0 }' "$1"
}

# The command `windlass sweep` has the name that users expect.
names_exceptions='operator/main.c operator/commands/train/train.c operator/commands/train/train.h'

# The same for words in strings that only some kinds have.
words_exceptions='operator/operator_metrics.c operator/commands/logs.c operator/commands/score/score.c'
find_words() { # FILE, NAME TO SHOW
    awk -v file="$2" '
        { line = $0
          gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
          sub(/^[ \t]*(\/\/|\/\*|\*).*$|\/\*.*$/, "", line)
          if (line ~ /^#include/) next
          if (line ~ /"[^"]*([mM]ini-?[bB]atch|[tT]rial|[cC]oordinator|[^a-z][rR]anks?[^a-z])[^"]*"/)
              printf "not ok %s:%d says a word of some kinds: %s\n", file, NR, $0 }' "$1"
}

# The same for agent/: a text that is a kind's name and nothing else, or a predicate of kinds.
find_values() { # FILE, NAME TO SHOW
    awk -v file="$2" '/"(BatchScore|DistTrain|Sweep)"|is_gang\>|is_sweep\>/ {
        printf "not ok %s:%d decides by a kind: %s\n", file, NR, $0 }' "$1"
}

# This check can fail: of these lines it finds exactly those that end with "bad".
sample='// SPDX: a comment may say BatchScore
#include "operator/kinds/batchscore/spec.h" // bad
/* A comment of two lines: a Sweep,
 * a DistTrain. */ static bool is_gang; // bad
"windlass run -f examples/sweep/sweep.yaml"
if (strcmp(kind, "DistTrain") == 0) { // bad
bool is_sweep(const json_t *object); /* bad
a DistTrain */
kinds_find(kind);'
found=$(find_names <(echo "$sample") sample)
if [ "$(grep -c . <<<"$found")" -ne 4 ] || grep -qv 'bad$' <<<"$found"; then
    echo "not ok kinds: the check itself finds in its sample:"
    echo "$found"
    exit 1
fi

sample='/* "a trial" in a comment */
    "first mini-batch", bad
{"RankFailed", "correct what rank 3 reports", 1}, // bad
"in frank words", tree_get(status, "items.done")'
found=$(find_words <(echo "$sample") sample)
[[ $(grep -c . <<<"$found") = 2 && $found == *'sample:2 '*'sample:3 '* ]] ||
    { echo "not ok kinds: the check of words finds: $found"; exit 1; }

sample='"this works only in pods of a DistTrain"
if (strcmp(kind, "Sweep") == 0) { // bad'
found=$(find_values <(echo "$sample") sample)
[[ $found == *'sample:2 '*bad ]] || { echo "not ok kinds: the check of agent/ finds: $found"; exit 1; }

out=$(
    git ls-files -co --exclude-standard 'operator/*.c' 'operator/*.h' 'lib/*.c' 'lib/*.h' |
        grep -v '^operator/kinds/' | while read -r file; do
        [ -f "$file" ] || continue
        case " $names_exceptions " in *" $file "*) ;; *) find_names "$file" "$file" ;; esac
        case " $words_exceptions " in *" $file "*) ;; *) find_words "$file" "$file" ;; esac
    done
    git ls-files -co --exclude-standard 'agent/*.c' 'agent/*.h' |
        grep -vxF agent/result/result_file.h | while read -r file; do
        [ -f "$file" ] && find_values "$file" "$file"
    done
)
[ -z "$out" ] || { echo "$out"; exit 1; }
echo "ok kinds"
