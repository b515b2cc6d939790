#!/usr/bin/env bash
# Those who may write to a volume can exchange a folder of it for a link: a path that was found to be in the volume leads
# elsewhere when it is opened. So agents open, make and remove a volume's files relative to descriptors (path_open of
# agent/store/path.h, openat, unlinkat), and files that use paths as text are listed in paths.txt, each with its reason.
cd "$(dirname "$0")/../.." || exit 1
bad=0
# Functions that follow text, ours among them. Not "kind->open(", a method of a table.
calls='(^|[^>._a-zA-Z0-9])(open|open64|creat|fopen|opendir|scandir|s?n?ftw|glob|realpath|rename|unlink|remove|rmdir|mkdir|mkdtemp|truncate|chmod|chown|symlink|link|file_read|file_write|file_remove_tree|file_make_folders|path_resolve|path_file|avio_open)\('
users() {
    git ls-files -co --exclude-standard 'agent/store/*.c' 'agent/data/*.c' 'agent/score/*.c' 'agent/train/*.c' 'agent/result/*.c' 'agent/engine/*.c' |
        xargs grep -HnE "$calls" | grep -vE '^[^:]+:[0-9]+:(static |int |bool )|^[^:]+:[0-9]+: *(/?\*|//)' | cut -d: -f1 | sort -u
}
listed() { sed -nE 's/^([^#:]+): [^ ].*/\1/p' tests/lint/paths.txt | sort; }
if [ "${1:-}" = --update ]; then
    left=$(awk -F: 'NR == FNR {uses[$1] = 1; next} /^#/ || ($1 in uses)' <(users) tests/lint/paths.txt)
    echo "$left" >tests/lint/paths.txt
fi
difference=$(diff <(users) <(listed)) || {
    echo "$difference" | sed -n 's/^< /not ok paths: follows a path as text; open it with path_open, or give the reason in paths.txt: /p
s/^> /not ok paths.txt: follows no path as text any more: /p'
    bad=1
}
[ $bad -eq 0 ] && echo "ok paths"
exit $bad
