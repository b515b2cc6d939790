#!/usr/bin/env bash
# A finished job is applied again after its input, its spec, its code or its outputs were edited: what is new or
# changed is scored, what is gone leaves the output, the rest is kept, and where only a full run is right it says
# so, and --restart does it. At the end the output is that of a fresh run, byte for byte, whatever was killed when.
# SOAK_ROUNDS (one of two, drawn), SOAK_SEED: rounds of random edits and kills. In them a worker runs the program twice; where SOAK_ROUNDS is
# set, it does so in all that comes before, too.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/in/sub" "$work/code"
seed=${SOAK_SEED:-$RANDOM}
processes=${SOAK_ROUNDS:+2}
echo "# SOAK_SEED=$seed"
RANDOM=$seed
# Logs each item; one whose text has "bad" fails.
cat >"$work/code/score.py" <<'P'
import json, os, sys, time
def heals(text, path):  # all, or those that end so
    return os.path.exists(path) and text.endswith(tuple(open(path).read().split()) or "")
line = json.loads(sys.stdin.readline())["init"]
asked = os.open(line["arguments"]["asked"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print('{"ready":true}', flush=True)
for text in sys.stdin:
    request = json.loads(text)
    results, failed = [], {}
    for index, item in enumerate(request["items"]):
        text = open(item).read().strip()
        os.write(asked, f"{os.path.basename(item)}\n".encode())
        if "bad" in text and not heals(text, line["arguments"]["asked"] + ".heals"):
            failed[str(index)] = "a bad file"
        results.append(text if text != "empty" else "")
    time.sleep(line["arguments"].get("sleep", 0))
    while os.path.exists(line["arguments"]["asked"] + ".hold"):
        time.sleep(0.1)
    print(json.dumps({"id": request["id"], "results": results, **({"failed": failed} if failed else {})}), flush=True)
P
manifest() { # mode, size of a mini-batch, more arguments, output
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: again}
spec:
  input: {files: {path: data/in${folder:-}${order:-}}}
  scorer: {command: {command: [python3, \$(code)/score.py], processesPerWorker: ${processes:-1}, arguments: {asked: $work/asked${3:-}}}}
  output: {path: ${4:-data/out}, mode: $1}
  miniBatchSize: $2
  errorThreshold: -1
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: code, persistentVolumeClaim: {claimName: code}}
M
}
launch() { rm -rf "$work/state"; timeout 120 "$windlass" run -f "$work/job.yaml" --state "$work/state" "$@" >"$work/log" 2>&1 </dev/null & run=$!; }
runs() {
    : >"$work/asked"
    launch "$@"
    wait $run
    code=$?
}
asked() { sort "$work/asked" | uniq | tr '\n' ' '; }
say() { grep -qF -- "$1" "$work/log" "$work"/state/*.log; }
summary() { jq -r "$1" "$work/data/out/summary.json"; }
# What a user gets: the results, without what is about the run.
results() { (cd "$1" && find . -name .windlass -prune -o -type f -print | grep -vxE './(summary.json|result.*|outputs.jsonl|report.html|.*\.csv|failed.jsonl)' | LC_ALL=C sort | while read -r name; do echo "== $name"; cat "$name"; done); }
# clear FOLDER...: below data/, where notes.txt is the user's.
clear() {
    local each
    for each in "$@"; do
        rm -f "$work/data/$each/notes.txt"
        discard "$work/data/$each"
    done
}
fresh() { # mode: what a run into an empty output makes
    clear fresh
    manifest "$1" 3 "" data/fresh
    runs
    results "$work/data/fresh" >"$work/wanted"
    manifest "$1" "${2:-4}"
}
# result.json and what it names: the files, their hashes, and nothing else.
verifies() {
    mv "$work/data/out/notes.txt" "$work/" 2>/dev/null # the user's
    "$windlass" verify "$work/data/out" >"$work/verify" 2>&1 || { sed 's/^/# /' "$work/verify"; false; }
    local holds=$?
    mv "$work/notes.txt" "$work/data/out/" 2>/dev/null
    return $holds
}
same() {
    diff <(results "$work/data/out") "$work/wanted" && return
    sed 's/^/# /' "$work/data/out/failed.jsonl" "$work/last"
    false
}
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -qn 12 "$work/log" "$work"/state/*.log | sed 's/^/# /'
}
for mode in PerFile AppendRow; do
    clear in out
    mkdir -p "$work/data/in/sub"
    for i in $(seq -w 0 24); do echo "file $i" >"$work/data/in/f$i"; done
    echo empty >"$work/data/in/f11"
    echo bad >"$work/data/in/f12"
    echo below >"$work/data/in/sub/x"
    nap 0.1
    manifest $mode 4
    runs
    check "$mode: a first run (code $code)" [ "$code" = 0 -a "$(wc -l <"$work/asked")" -ge 26 ]
    [ $mode = PerFile ] || check "an empty result is an empty line" [ "$(sed -n 12p "$work/data/out/rows.txt" | wc -c)" = 1 ]
    echo mine >"$work/data/out/notes.txt"
    rm "$work/data/in/f12"
    runs
    check "a failed file is gone: nothing is scored" [ "$code $(asked)" = "0 " ]
    runs
    check "applied again: nothing to do, nothing is asked" [ "$code $(asked)" = "0 " ]
    check "and it says so" say "nothing to do"
    show

    # New, changed, changed to the same size and time, removed, and in front of and behind all others.
    echo new >"$work/data/in/f02b"
    echo first >"$work/data/in/a"
    echo last >"$work/data/in/z"
    echo changed >"$work/data/in/f05"
    touch -r "$work/data/in/f07" "$work/time"
    echo "FILE 07" >"$work/data/in/f07"
    touch -r "$work/time" "$work/data/in/f07"
    rm "$work/data/in/f10" "$work/data/in/sub/x"
    nap 0.1
    runs
    check "edited: only what is new or changed is asked: $(asked)" [ "$code $(asked)" = "0 a f02b f05 f07 z " ]
    check "it says what it found" say "data/out: 3 new, 2 changed, 0 tried again, 2 removed, 21 kept"
    check "and the message stays: the storage had no trouble" [ "$(grep -c "storage works again" "$work/log")" = 0 ]
    check "and at its end" grep -q '^  rerun    data/out: 3 new, 2 changed' "$work/log"
    check "the counts are of all" [ "$(summary '[.items.total, .items.done, .items.kept] | join(" ")')" = "26 26 21" ]
    check "result.json's, too" [ "$(jq -r '[.counts.items.total, .counts.items.done, .counts.items.kept, .input.items] | join(" ")' "$work/data/out/result.json")" = "26 26 21 26" ]
    show
    fresh $mode
    echo mine >"$work/data/fresh/notes.txt"
    results "$work/data/fresh" >"$work/wanted"
    check "the output is that of a fresh run" same
    check "result.json holds" verifies
    runs
    check "once more: nothing to do" [ "$code $(asked)" = "0 " ]

    # A changed file that fails loses its result; then it is mended.
    echo "bad now" >"$work/data/in/f03"
    nap 0.1
    runs
    check "a changed file that fails: code 0, counted" [ "$code $(summary .items.failed)" = "0 1" ]
    [ $mode = AppendRow ] || check "its old result is gone" [ ! -e "$work/data/out/f03.json" ]
    [ $mode = PerFile ] || check "its old row is gone" [ "$(grep -c 'file 03' "$work/data/out/rows.txt")" = 0 ]
    runs
    check "it is tried again" [ "$code $(asked)" = "0 f03 " ]
    echo mended >"$work/data/in/f03"
    nap 0.1
    runs
    check "mended: $(asked)" [ "$code $(asked) $(summary .items.failed)" = "0 f03  0" ]
    show

    # Fields that change no result: nothing is done again.
    manifest $mode 7
    runs
    check "another mini-batch size: nothing to do" [ "$code $(asked)" = "0 " ]
    echo more >"$work/data/in/zz"
    nap 0.1
    runs
    check "and a new file is scored with it" [ "$code $(asked)" = "0 zz " ]
    if [ $mode = PerFile ]; then
        rm "$work/data/out/f01.json"
        runs
        check "a result that the user has removed is made again" [ "$code $(asked)" = "0 f01 " ]
        truncate -s -1 "$work/data/out/f04.json"
        runs
        check "and so is one that was cut" [ "$code $(asked)" = "0 f04 " ]
        check "and the output holds" verifies
    else
        sed -i s/file/FILE/ "$work/data/out/rows.txt"
        runs
        check "rows that the user has edited are refused (code $code)" [ "$code $(asked)" = "2 " ]
        check "in words" say "is not as the last run wrote it"
        runs --restart
        check "and made anew" [ "$code $(grep -c FILE "$work/data/out/rows.txt")" = "0 1" ]
    fi
    show

    # A first coordinator has committed the end and died before its outputs were whole: another job makes them, then
    # scores what is new.
    manifest $mode 7 "" data/torn
    clear torn
    runs
    echo newest >"$work/data/in/zzz"
    nap 0.1
    rm "$work/data/torn/summary.json" "$work/data/torn/result.json" "$work"/data/torn/.windlass/*/{done,made}*
    for name in outputs.jsonl rows.txt; do [ ! -e "$work/data/torn/$name" ] || echo torn >"$work/data/torn/$name"; done
    runs
    check "outputs that were not finished are made first (code $code)" [ $code = 0 ]
    fresh $mode 7
    check "and with the newest file they are those of a fresh run" diff <(results "$work/data/torn") "$work/wanted"
    check "and whole" "$windlass" verify "$work/data/torn"
    manifest $mode 7
    runs
    show

    # Fields and code that change results: a full run, when asked for.
    cp "$work/data/out/summary.json" "$work/before.json"
    results "$work/data/out" >"$work/before"
    manifest $mode 4 ', more: 1'
    runs
    check "other arguments: refused (code $code), by field" say 'spec.scorer.command.arguments.more: was absent, is 1'
    check "code 2, nothing is asked or touched" [ "$code $(asked)" = "2 " -a -z "$(diff "$work/before.json" "$work/data/out/summary.json")" ]
    check "and the results are those" diff <(results "$work/data/out") "$work/before"
    manifest $mode 4
    sed -i 's/text = open(item).read().strip()/text = open(item).read().strip().replace("file", "page")/' "$work/code/score.py"
    runs
    check "edited code: refused (code $code)" [ "$code $(asked)" = "2 " ]
    check "by name" say "score.py: the file's SHA-256 was "
    check "with what to do" say "rerun with --restart (annotation windlass.dev/restart), or choose another output"
    rm "$work/data/in/f20"
    runs --restart
    check "--restart: all is scored (code $code)" [ "$code $(asked | wc -w)" = "0 $(find "$work/data/in" -type f | wc -l)" ]
    fresh $mode
    echo mine >"$work/data/fresh/notes.txt"
    results "$work/data/fresh" >"$work/wanted"
    check "the output is that of a fresh run, and the user's file" same
    runs
    check "then nothing to do" [ "$code $(asked)" = "0 " ]
    manifest $mode 4 ', more: 1'
    runs --restart
    check "--restart after an edit of the spec (code $code)" [ "$code $(asked | wc -w)" = "0 $(find "$work/data/in" -type f | wc -l)" ]
    manifest $mode 4
    runs --restart
    check "and back again (code $code)" [ "$code" = 0 -a -n "$(asked)" ]
    show
    # To the other mode: the files of this one go.
    [ $mode = PerFile ] && other=AppendRow || other=PerFile
    manifest $other 4
    runs --restart
    fresh $other
    echo mine >"$work/data/fresh/notes.txt"
    results "$work/data/fresh" >"$work/wanted"
    check "--restart with mode $other: no file of $mode is left (code $code)" same
    show
    sed -i 's/.replace("file", "page")//' "$work/code/score.py"
done

# Orders that cannot be compared name by name need a full run.
clear in out
mkdir -p "$work/data/in"
for i in $(seq 5); do echo "$i" >"$work/data/in/$i"; done
nap 0.1
order=', order: Modified'
manifest PerFile 4
runs
echo new >"$work/data/in/9"
nap 0.1
runs
check "by time of change: refused (code $code), with both counts" say "5 items when this run began, 6 now: rerun with --restart"
check "code 2" [ "$code $(asked)" = "2 " ]
runs --restart
check "--restart does it" [ "$code $(ls "$work/data/out" | grep -cE '^[0-9].json$')" = "0 6" ]
runs
check "once more: nothing to do" [ "$code $(asked)" = "0 " ]
rm "$work/data/out/3.json"
runs
check "a result that is gone: refused (code $code), not called done" [ "$code $(asked)" = "2 " ]
check "in words" say "spec.output.path: data/out: results of the last run are gone or have another size: rerun with --restart"
runs --restart
check "--restart makes it again" [ "$code $(ls "$work/data/out" | grep -cE '^[0-9].json$')" = "0 6" ]
rm "$work/data/out/outputs.jsonl"
runs
check "nor is an output whose list is gone (code $code)" [ "$code $(asked)" = "2 " ]
check "in words" say "spec.output.path: data/out/outputs.jsonl is not as the last run wrote it: rerun with --restart"
runs --restart
check "--restart makes that again, too" [ "$code $(wc -l <"$work/data/out/outputs.jsonl")" = "0 6" ]
order=
show

# A table, of which nothing can be kept: rows of another name, and the coordinator dies before it has removed the old
# ones. Its log ends with success, and the mark says that it did not come to it.
mkdir -p "$work/data/rows"
printf 'a\n1\n2\n' >"$work/data/rows/t.csv"
table() { # FILE
    manifest AppendRow 10KB "" data/table
    sed -i "s|^  input: .*|  input: {table: {path: data/rows}}|; s|mode: AppendRow|mode: AppendRow, appendRowFileName: $1|; s|command: \[.*|command: [python3, \$(code)/rows.py]}}|" "$work/job.yaml"
}
cat >"$work/code/rows.py" <<'P'
import json, sys
for text in sys.stdin:
    asked = json.loads(text)
    print(json.dumps({"ready": True} if "init" in asked else {"id": asked["id"], "results": [row["a"] for row in asked["items"]]}), flush=True)
P
is_unswept() { jq -s 'map(.unswept) | any' "$work"/data/table/.windlass/*/made*; }
# A coordinator that dies when it removes the file that $work/dies names, or gives >FILE its name, and windlass with it.
mkdir "$work/bin"
cat >"$work/dies.c" <<C
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void die_at(const char *how, const char *name) {
    char wanted[256] = "", at[256];
    FILE *file = fopen("$work/dies", "r");
    const char *last = strrchr(name, '/');
    snprintf(at, sizeof at, "%s%s", how, last ? last + 1 : name);
    if (file && fscanf(file, "%255s", wanted) == 1 && strcmp(at, wanted) == 0 && unlink("$work/dies") == 0) {
        kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    if (file) fclose(file);
}
int unlinkat(int folder, const char *name, int flags) {
    die_at("", name);
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    die_at(">", to);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}
C
gcc -shared -fPIC -o "$work/bin/dies.so" "$work/dies.c" || exit 3
cp "$windlass" "$work/bin/"
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s-agent "$@"\n' "$work/bin/dies.so" "$windlass" >"$work/bin/windlass-agent"
chmod +x "$work/bin/windlass-agent"
# dies_at FILE OUTPUT [OPTIONS]: while it removes that file; nothing then says that the output is whole.
dies_at() {
    local windlass=$work/bin/windlass name=$1 output=$2
    shift 2
    echo "$name" >"$work/dies"
    runs "$@"
    check "killed when it is to remove or name $name (code $code)" [ $code -eq 137 -a ! -e "$work/dies" ]
    check "nothing says that the output is whole" eval '! "$windlass" verify "$output" >"$work/said" 2>&1 && grep -q "has no result.json" "$work/said"'
}
table old.txt
runs
check "rows of a table (code $code)" [ "$code $(cat "$work/data/table/old.txt" | xargs)" = "0 1 2" ]
runs
check "applied again: nothing to do" eval '[ $code = 0 ] && say "nothing to do"'
cp "$work/data/table/old.txt" "$work/rows"
sed -i s/1/7/ "$work/data/table/old.txt"
runs
check "edited rows of a table are not called done (code $code)" [ $code = 2 ]
check "in words" say "spec.output.path: data/table/old.txt is not as the last run wrote it: rerun with --restart"
truncate -s -1 "$work/data/table/old.txt"
runs
check "nor are cut ones (code $code)" [ $code = 2 ]
cp "$work/rows" "$work/data/table/old.txt"
runs
check "as they were: nothing to do" eval '[ $code = 0 ] && say "nothing to do"'
sed -i.kept 's/"kind": "BatchScore"/"kind": "DistTrain"/' "$work/data/table/result.json"
runs
check "another kind's result there is not called done (code $code)" eval '[ $code = 2 ] && say "spec.output.path: data/table holds the result of DistTrain again (result.json): choose another output"'
mv "$work/data/table/result.json.kept" "$work/data/table/result.json"
rm "$work/data/table/old.txt"
runs
check "rows that are gone are made again (code $code)" [ "$code $(cat "$work/data/table/old.txt" | xargs)" = "0 1 2" ]
table new.txt
dies_at old.txt "$work/data/table" --restart
check "both files are there, and the mark says so" [ "$(cd "$work/data/table" && echo *.txt) $(is_unswept)" = "new.txt old.txt true" ]
runs
check "the next job removes the old one (code $code)" [ "$code $(cd "$work/data/table" && echo *.txt)" = "0 new.txt" ]
check "and says so in its mark" [ "$(is_unswept)" = false ]
check "and the output is whole" "$windlass" verify "$work/data/table"
manifest PerFile 1 "" data/gone
runs
rm "$work/data/in/2"
dies_at 2.json "$work/data/gone"
check "the result of a file that is gone is still there" [ -e "$work/data/gone/2.json" ]
runs
check "the next job removes it (code $code)" [ "$code" = 0 -a ! -e "$work/data/gone/2.json" -a -e "$work/data/gone/1.json" ]
check "and that output is whole, too" "$windlass" verify "$work/data/gone"

# The rows are in place, or not yet, when a coordinator dies, and the next job, in the same generation, scores again what had
# failed: its row must come into the file that is there, also after two such deaths between which one item was healed.
torn() { # the results of $torn are those of a fresh run
    results "$work/$torn" >"$work/made"
    clear fresh
    manifest $mode 3 "" data/fresh
    runs
    check "the results are those of a fresh run" diff <(results "$work/data/fresh") "$work/made"
    check "and that output is whole" "$windlass" verify "$work/$torn"
    manifest $mode 2 "" $torn
}
turn() { # CONTENT of the items 1 and 7, which may heal
    rm -f "$work/asked.heals"
    for each in 1 7; do echo "$1 $each" >"$work/data/in/$each"; done
    echo 3 >"$work/data/in/3"
    nap 0.1
}
add_torn() { # WHERE...: a rerun that dies there
    torn=data/torn$((++torns))
    rm -f "$work/data/in/7"
    echo 1 >"$work/data/in/1"
    manifest $mode 2 "" $torn
    runs
    turn bad
    local place
    for place in "$@"; do
        dies_at "$place" "$work/$torn"
        echo 1 >>"$work/asked.heals" # the item 1, and then all
    done
    : >"$work/asked.heals"
    runs
    check "$mode: what had failed is added to the results in place (code $code)" [ $code = 0 ]
    torn
    echo other >"$work/data/in/3"
    nap 0.1
    runs
    check "and a rerun takes each item's own result from there (code $code)" [ "$code $(asked)" = "0 3 " ]
    torn
}
add_early() { # PLACE: a first run ends with failed items; the next job heals them, and dies there
    local place=$1
    torn=data/early$((++torns))
    turn bad
    manifest $mode 2 "" $torn
    runs
    : >"$work/asked.heals"
    [ -z "$place" ] || dies_at "$place" "$work/$torn"
    [ -z "$place" ] || echo other >"$work/data/in/3"
    nap 0.1
    runs
    check "healed after a first run: each item has its own row (code $code)" [ $code = 0 ]
    check "the first coordinator does it" [ -n "$place" -o ! -e "$work/state/again-coordinator-2.log" ]
    torn
}
torns=0
draw "deaths" 2 1 2 3 4 5 6
for each in "${drawn[@]}"; do
    mode=AppendRow
    case $each in
    1) add_torn lines-1 ;;
    2) add_torn lines-1 '>rows.txt' ;;
    3) mode=PerFile && add_torn lines-1 '>outputs.jsonl' ;;
    4) add_early '>made' ;;
    5) add_early '>done' ;;
    6) add_early '' ;;
    esac
done
rm -f "$work/asked.heals" "$work/data/in/7"
for each in 1 3; do echo "$each" >"$work/data/in/$each"; done
nap 0.1

# .windlass is deleted by hand, and two inputs go: their results do not stay, also where the coordinator dies while it
# removes them. What the user has put there stays.
echo 2 >"$work/data/in/2"
nap 0.1
manifest PerFile 1 "" data/lost
runs
check "a run whose memory will be lost (code $code)" [ "$code" = 0 -a -e "$work/data/lost/2.json" ]
echo mine >"$work/data/lost/notes.txt"
echo edited >"$work/data/lost/4.json"
rm -r "$work/data/lost/.windlass" "$work/data/in/2" "$work/data/in/4"
dies_at 2.json "$work/data/lost"
check ".windlass was deleted: all is scored again" [ "$(asked | wc -w)" = "$(find "$work/data/in" -type f | wc -l)" ]
runs
check "without the result of a file that is gone (code $code)" [ $code = 0 -a ! -e "$work/data/lost/2.json" -a -e "$work/data/lost/1.json" ]
check "what others have written stays" [ "$(cd "$work/data/lost" && cat notes.txt 4.json | xargs)" = "mine edited" ]
rm "$work/data/lost/notes.txt" "$work/data/lost/4.json"
check "and the output is whole without it" "$windlass" verify "$work/data/lost"
table other.txt
rm -r "$work/data/table/.windlass"
runs
check "without .windlass another job is refused by name (code $code)" [ "$code $(asked)" = "2 " ]
check "in words" say "spec.output.path: data/table holds the results of job again (result.json), started with a different spec, and .windlass is gone: rerun with --restart"
check "and what is there stays whole" "$windlass" verify "$work/data/table"
cp "$work/data/table/result.json" "$work/result.json"
sed -i 's/"kind": "BatchScore"/"kind": "DistTrain"/' "$work/data/table/result.json"
runs --restart
check "and a training's result is not for a BatchScore to replace (code $code)" [ "$code" = 2 -a -e "$work/data/table/result.json" ]
check "in words, too" say "spec.output.path: data/table holds the result of DistTrain again (result.json): choose another output"
mv "$work/result.json" "$work/data/table/result.json"
runs --restart
check "--restart replaces it (code $code)" [ "$code $(cd "$work/data/table" && echo *.txt)" = "0 other.txt" ]
check "and leaves it whole" "$windlass" verify "$work/data/table"
show

# A job that has failed leaves no result.json: without .windlass its files are unknown, and the next one says so.
echo bad >"$work/data/in/6"
nap 0.1
manifest PerFile 1 "" data/unknown
sed -i 's/errorThreshold: -1/errorThreshold: 0/' "$work/job.yaml"
runs
check "a job fails, and has left results (code $code)" [ "$code" = 1 -a -e "$work/data/unknown/1.json" -a ! -e "$work/data/unknown/result.json" ]
rm -r "$work/data/unknown/.windlass" "$work/data/in/6" "$work/data/in/1"
dies_at result.json "$work/data/unknown"
runs
check "without .windlass the next one says that files stay (code $code)" [ "$code" = 0 -a -e "$work/data/unknown/1.json" ]
check "at its end" grep -q '^  stays    data/unknown was not empty: files that this run does not make stay there' "$work/log"
check "and in its summary" [ "$(jq -r .message "$work/data/unknown/summary.json" | cut -c 1-26)" = "data/unknown was not empty" ]
check "windlass verify names them" eval '! "$windlass" verify "$work/data/unknown" >"$work/said" && grep -q "^not made by this run  1.json" "$work/said"'
rm "$work/data/unknown/1.json"
runs
check "then nothing is to do, and nothing stays (code $code)" [ "$code $(asked)$(grep -c stays "$work/log")" = "0 0" ]
show

# dies_listed: killed when its input was listed and nothing was scored yet.
dies_listed() {
    touch "$work/asked.hold"
    : >"$work/asked"
    launch
    check "an item is asked for" until_true_while $run 60 test -s "$work/asked"
    kill -9 "$(pgrep -P $run -x windlass)"
    wait $run 2>/dev/null
    rm "$work/asked.hold"
}
# The next job does not take that list for its own.
clear in out
mkdir -p "$work/data/in"
for i in $(seq 5); do echo "$i" >"$work/data/in/$i"; done
nap 0.1
manifest PerFile 4
dies_listed
rm "$work/data/in/3"
echo new >"$work/data/in/9"
nap 0.1
runs
check "a list of a killed job that has no result: today's input is scored (code $code)" [ "$code $(cd "$work/data/out" && echo [0-9].json)" = "0 1.json 2.json 4.json 5.json 9.json" ]
show

# Without .windlass again, of a result.json that names no files: the job that goes on knows that nothing there is a stranger's.
manifest SummaryOnly 4 "" data/bare
runs
check "a result without files (code $code)" [ "$code $(jq -c .outputs "$work/data/bare/result.json")" = "0 []" ]
rm -r "$work/data/bare/.windlass"
dies_listed
runs
check "made again, nothing stays (code $code)" [ "$code $(grep -c '^  stays' "$work/log") $(jq -r .message "$work/data/bare/summary.json" | grep -c 'was not empty')" = "0 0 0" ]
show

##### random edits, reruns and kills #################################################################
edit() { # one random edit
    local name=r$((RANDOM % 60))
    case $((RANDOM % 4)) in
    0) rm -f "$work/data/in/$name" ;;
    1) echo "bad $RANDOM" >"$work/data/in/$name" ;;
    *) echo "text $RANDOM" >"$work/data/in/$name" ;;
    esac
}
pods() { pgrep -P "$(pgrep -P $run -x windlass 2>/dev/null || echo 0)" 2>/dev/null; }
hurt() { # kills a pod, or windlass, at a random moment
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    local all victim
    mapfile -t all < <(pods)
    victim=${all[RANDOM % (${#all[@]} + 1)]:-$(pgrep -P $run -x windlass)}
    [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}
clear fresh
processes=2
draw "rounds" 1 1 2
[ -z "${SOAK_ROUNDS:-}" ] || mapfile -t drawn < <(seq "$SOAK_ROUNDS")
for round in "${drawn[@]}"; do
    [ $((round % 2)) = 0 ] && mode=PerFile || mode=AppendRow
    clear in out
    mkdir -p "$work/data/in"
    for i in $(seq 40); do edit; done
    echo text >"$work/data/in/always"
    kills=0
    for turn in 1 2 3; do
        manifest $mode $((RANDOM % 6 + 1)) ', sleep: 0.02'
        for i in $(seq 6); do edit; done
        nap 0.05
        launch
        for i in 1 2; do hurt && kills=$((kills + 1)); done
        wait $run
        [ $((RANDOM % 3)) -gt 0 ] || edit # also while a run is not over
    done
    nap 0.05
    for i in 1 2 3; do # the first may be of a lock that is still held
        manifest $mode 4 ', sleep: 0.02'
        runs
        [ $code = 0 ] && break
    done
    tail -n 30 "$work/log" "$work"/state/*coordinator*.log >"$work/last"
    fresh $mode
    check "round $round, $mode, $kills kills: the output is that of a fresh run (code $code)" same
    check "and result.json holds" verifies
    show
done
exit $((failures > 0))
