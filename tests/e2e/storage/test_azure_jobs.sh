#!/usr/bin/env bash
# Jobs whose inputs, models, lists, outputs and logs are az:// paths, on a real Azurite, through `windlass run`: the same
# bytes as from volumes; inputs and outputs in one account with scripts and logs in another, and the reverse,
# with an account that may only be read; copies for programs that are removed after reading; messages when something
# is missing; and that no secret leaks.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
azurite=$work/azurite
finish() {
    tests/azurite/start.sh stop "$azurite"
    rm -rf "$work"
}
trap finish EXIT
variables=$(tests/azurite/start.sh start "$azurite" $$) || { echo "not ok azurite starts"; exit 1; }
while read -r line; do export "${line?}"; done <<<"$variables"
az() { python3 tests/azurite/az.py "$azurite" "$@"; }
secret() { # ACCOUNT FILE TEXT: sets the only secret of that account, and remembers it
    rm -f "$azurite/stores/$1/"*
    printf '%s' "$3" >"$azurite/stores/$1/azurestorageaccount$2"
    sed 's/.*sig=//; s/&.*//' <<<"$3" >>"$work/secrets"
    sed 's/.*sig=//; s/&.*//' <<<"$3" | python3 -c 'import sys, urllib.parse; print(urllib.parse.unquote(sys.stdin.read().strip()))' >>"$work/secrets"
}
key() { tr ';' '\n' <"$azurite/accounts" | sed -n "s/^$1:\([^:]*\).*/\1/p"; }
secret films key "$(key films)"
secret results key "$(key results)"

# The same data in a folder and in both accounts.
mkdir -p "$work/data/in/deep/er" "$work/code" "$work/scripts"
python3 tests/data/models/make.py "$work/scripts"
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=10 -frames:v 6 "$work/data/in/p%d.png" </dev/null || exit 3
mv "$work/data/in/p5.png" "$work/data/in/deep/er/p 5 + ü%41.png"
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=25 -f lavfi -i sine=frequency=440 -t 3 -c:v libx264 -g 25 -pix_fmt yuv420p -c:a aac \
    "$work/data/film.mp4" </dev/null || exit 3
head -c 20000000 /dev/zero | openssl enc -aes-128-ctr -K 0 -iv 0 2>/dev/null >"$work/data/large.bin"
printf 'p3.png\ndeep/er/p 5 + ü%%41.png\np1.png\n' >"$work/scripts/list.txt"
printf 'red\ngreen\nblue\n' >"$work/scripts/labels.txt"
cp -r "$work/scripts" "$work/data/scripts"
mkdir "$work/data/tables"
printf 'name,age\nAda,36\n"Bob, jun.",7\n' >"$work/data/tables/a.csv"
{ echo name,age; seq 5000 | sed 's/.*/row &,&/'; } >"$work/data/tables/b.csv"
# 5 slices, and 1,000 of 12 KB.
python3 - "$work/data/arrays" <<'P'
import array, os, struct, sys
os.makedirs(sys.argv[1] + "/deep")
for name, count in (("b", 5), ("deep/a", 1000)):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 3, 32, 32), }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    values = array.array("f", ((i * 7 + i // 3072 * 13) % 97 for i in range(count * 3072)))
    open(f"{sys.argv[1]}/{name}.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + values.tobytes())
P
for account in films results; do
    az upload $account tests/data/arrays "$work/data/arrays" && az upload $account tests/data/tables "$work/data/tables" || exit 3
    az upload $account tests/data/in "$work/data/in" && az upload $account tests/data/film.mp4 "$work/data/film.mp4" &&
        az upload $account tests/data/scripts "$work/scripts" || exit 3
done
# Folder objects as mounts and Data Lake make them: the input of a table is one, with files below it.
az folder films tests/data/tables && az folder results tests/data/folder.mp4 || exit 3
cat >"$work/code/look.py" <<'P'
import hashlib, json, os, sys
json.loads(sys.stdin.readline())
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if isinstance(request["items"][0], dict):
        print(json.dumps({"id": request["id"], "results": [f"{item['name']} is {item['age']}" for item in request["items"]]}), flush=True)
        continue
    copies = [name for at, _, names in os.walk(os.environ["TMPDIR"]) for name in names if "windlass-" in at]
    print("looked at", len(request["items"]), file=sys.stderr, flush=True)
    print(json.dumps({"id": request["id"], "results": [
        {"end": item.split("/")[-1], "sha": hashlib.sha256(open(item, "rb").read()).hexdigest(), "copies": len(copies)}
        for item in request["items"]]}), flush=True)
P

# run NAME IN SCRIPTS OUT INPUT SCORER [MODE [MORE LINES [SIZE]]]: runs a job; IN, SCRIPTS and OUT are what {in},
# {scripts} and its output's path begin with. Its exit code is in $code, its messages in $work/log.
open='{account: films, secretName: films}, {account: results, secretName: results}'
stores=$open
run() {
    local spec="  input: $5
  scorer: $6
  output: {path: $4/$1, mode: ${7:-PerFile}}"
    spec=${spec//\{in\}/$2}
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: stored}
spec:
${spec//\{scripts\}/$3}
  miniBatchSize: ${9:-2}
  workers: {max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: code, persistentVolumeClaim: {claimName: code}}
  stores: [$stores]
${8:-}
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state/$1" --keep >"$work/log" 2>&1 </dev/null
    code=$?
    cat "$work/log" >>"$work/said"
}
fine() { [ "$code" -eq 0 ] || { sed 's/^/# /' "$work/log"; false; }; }
# The files to compare of an output in a folder, and of one in an account.
told=(! -name failed.jsonl ! -name summary.json ! -name report.html ! -name mini_batches.csv ! -name workers.csv
    ! -name result.json ! -name outputs.jsonl)
files() { (cd "$1" && find . -type f ! -path './.windlass/*' "${told[@]}" -exec sha256sum {} + | sort -k 2); }
fetched() { # ACCOUNT PATH
    rm -rf "$work/got"
    mkdir "$work/got"
    az download "$1" "$2" "$work/got"
    files "$work/got"
}
same() { # NAME ACCOUNT PATH LINES
    files "$work/data/$1" >"$work/wanted"
    fetched "$2" "$3" | diff "$work/wanted" - && [ "$(wc -l <"$work/wanted")" -eq "$4" ]
}

##### the same bytes from volumes and from accounts ##############################################
pictures='{files: {path: {in}/in, pattern: "*.png"}}' listed='{files: {path: {in}/in, manifest: {scripts}/list.txt}}'
film='{video: {path: {in}/film.mp4}}' network='{onnx: {path: {scripts}/invert.onnx}}'
classes='{onnx: {path: {scripts}/classes.onnx, postprocess: {type: Classes, labels: {scripts}/labels.txt}}}'
arrays='{npy: {path: {in}/arrays}}'
tables='{table: {path: {in}/tables, pattern: "*.csv"}}' program='{command: {command: [python3, $(code)/look.py]}}'
run pictures data data/scripts data "$pictures" "$network"
run listed data data/scripts data "$listed" "$classes"
run film data data/scripts data "$film" "$network"
run records data data/scripts data "$film" "$classes"
run slices data data/scripts data "$arrays" "$classes" AppendRow "" 50
check "slices of arrays, on volumes" eval 'fine && [ "$(wc -l <"$work/data/slices/rows.txt")" = 1005 ]'
run people data - data "$tables" "$program" AppendRow "" 16KB
check "on volumes" fine
both() { # NAME FILES INPUT SCORER [MODE SIZE]
    run "$1" az://films/tests/data az://results/tests/data/scripts az://films/tests/made "$3" "$4" "${5:-}" "" "${6:-}"
    fine && same "$1" films "tests/made/$1" "$2"
}
check "pictures: inputs and outputs in one account, the network in another" both pictures 6 "$pictures" "$network"
check "named by a list, with labels" both listed 3 "$listed" "$classes"
check "a film with its sound" both film 1 "$film" "$network"
check "and records of its frames" both records 1 "$film" "$classes"
check "slices of arrays" both slices 1 "$arrays" "$classes" AppendRow 50
table() {
    run people az://films/tests/data - az://films/tests/made "$tables" "$program" AppendRow "" 16KB
    fine && same people films tests/made/people 1 && [ "$(wc -l <"$work/got/rows.txt")" -eq 5002 ]
}
check "rows of tables" table
check "with summary, report and tables beside it" eval \
    '[ "$(az list films tests/made/film | grep -v ^.windlass | sort | tr "\n" " ")" = "failed.jsonl film.mp4 mini_batches.csv report.html result.json summary.json workers.csv " ]'
check "the ending names them" grep -q "video    az://films/tests/made/film/film.mp4" "$work/said"
check "no object of a try is left" eval '! az list films tests/made | grep -E "/(try|join)/"'
check "the same again does nothing" eval \
    'run film az://films/tests/data az://results/tests/data/scripts az://films/tests/made "$film" "$network"; fine && grep -q "nothing to do" "$work/log"'
other_run() {
    run film az://films/tests/data az://results/tests/data/scripts az://films/tests/made "$film" '{onnx: {path: {scripts}/slow.onnx}}'
    [ "$code" -eq 2 ] && grep -q "az://films/tests/made/film holds the results of job stored" "$work/log"
}
check "another network for the same output is refused by name" other_run

##### a trigger, and the run that it starts, all of it in accounts ###############################
cat >"$work/armed.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: armed}
spec:
  input: {files: {path: az://films/tests/data/none, pattern: "*.png"}}
  scorer: {onnx: {path: az://results/tests/data/scripts/invert.onnx}}
  output: {path: az://results/tests/made/armed}
  trigger: {path: az://results/tests/go/READY}
  workers: {max: 1}
  stores: [$open]
M
"$windlass" run -f "$work/armed.yaml" --state "$work/state/armed" >"$work/armed.log" 2>&1 </dev/null &
armed=$!
told_within() { # SECONDS TEXT
    for _ in $(seq "$1"0); do grep -qF -- "$2" "$work/armed.log" && return; nap 0.1; done
    sed 's/^/# /' "$work/armed.log"
    return 1
}
check "a job waits until an object of another account is there" told_within 30 "Armed: waits until az://results/tests/go/READY is there"
az put results tests/go/READY az://films/tests/data/in
check "which names the input of its run" told_within 60 "Armed: waits until az://results/tests/go/READY is written again"
kill -INT $armed
wait $armed
made_by_trigger() {
    fetched results tests/made/armed/runs >/dev/null
    [ "$(find "$work/got" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ] && diff <(files "$work/data/pictures") <(files "$work/got/"*)
}
check "which are in a folder of their own, byte for byte" made_by_trigger
cat "$work/armed.log" >>"$work/said"

##### programs, logs; an account that may only be read ###########################################
stores='{account: films, secretName: films, readOnly: true}, {account: results, secretName: results}'
read_sas() { secret films sastoken "$(az sas films tests rl 600)"; }
rows() {
    run rows az://films/tests/data - az://results/tests/made "$pictures" "$program" AppendRow "  logs: {path: az://results/tests/logs}"
    fine && fetched results tests/made/rows >/dev/null
}
check "a program whose account of inputs is read-only" eval 'read_sas && rows'
wanted() { (cd "$work/data/in" && find . -name '*.png' | LC_ALL=C sort | while read -r name; do echo "$(basename "$name") $(sha256sum <"$name" | cut -d" " -f1)"; done); }
check "gets copies with their names, in their order" diff <(wanted) <(jq -r '"\(.end) \(.sha)"' "$work/got/rows.txt")
check "of a mini-batch, and at most of the one ahead" eval 'jq -se "all(.[]; .copies >= 2 and .copies <= 4)" "$work/got/rows.txt" >/dev/null'
check "which are gone afterwards" eval '[ -d "$work/state/rows/pods" ] && [ -z "$(find "$work/state/rows/pods" -name "windlass-*")" ]'
check "its output is in the folder of logs" eval '[ -n "$(az list results tests/logs)" ] && az download results tests/logs "$work/logs" && grep -rqF "looked at 2" "$work/logs"'
writes_input() {
    run rows az://results/tests/data - az://films/tests/made "$pictures" "$program" AppendRow
    [ "$code" -eq 2 ] && grep -q "spec.output.path: is in a store with readOnly: true" "$work/log"
}
check "an output in it is refused by its field" writes_input
stores=$open
writes_denied() {
    run rows az://results/tests/data - az://films/tests/made "$pictures" "$program" AppendRow
    [ "$code" -ne 0 ] && grep -q "spec.output.path: az://films/tests/made/rows: the storage answered 403" "$work/log"
}
check "and where the manifest does not say so, by the storage" writes_denied
large() {
    az upload results tests/data/large/large.bin "$work/data/large.bin"
    run large az://results/tests/data - az://results/tests/made '{files: {path: {in}/large}}' "$program" AppendRow
    fine && fetched results tests/made/large >/dev/null && [ "$(jq -r .sha "$work/got/rows.txt")" = "$(sha256sum <"$work/data/large.bin" | cut -d" " -f1)" ]
}
check "a file of several ranges" large

##### messages ####################################################################################
refuses() { # CODE TEXT run...
    run "${@:3}"
    [ "$code" -eq "$1" ] && grep -qF -- "$2" "$work/log" && return
    echo "# exit code $code: $(cat "$work/log")"
    return 1
}
from=az://results/tests/data
check "no such folder" refuses 2 "spec.input.files.path: az://results/tests/none/in: no file in it matches" x az://results/tests/none $from/scripts $from "$pictures" "$network"
check "no such film" refuses 2 "spec.input.video.path: az://results/tests/data/none.mp4: the storage answered 404" x $from $from/scripts $from '{video: {path: {in}/none.mp4}}' "$network"
check "a film that stands for a folder" refuses 2 "spec.input.video.path: az://results/tests/data/folder.mp4: is a folder, not an object" x $from $from/scripts $from '{video: {path: {in}/folder.mp4}}' "$network"
check "no such network" refuses 2 "spec.scorer.onnx.path: az://results/tests/data/none.onnx: the storage answered 404" x $from $from $from "$film" '{onnx: {path: {scripts}/none.onnx}}'
check "no such container" refuses 2 "spec.output.path: az://results/nowhere/x: container not found" x $from $from/scripts az://results/nowhere "$film" "$network"
check "a film that the result would replace" refuses 2 "the result would replace the input" data $from $from/scripts az://results/tests "$film" "$network"
check "a film that the rows would replace" refuses 2 "$from/film.mp4 is the input itself" data $from $from/scripts az://results/tests "$film" "$classes" "AppendRow, appendRowFileName: film.mp4"
az put results tests/data/failed.jsonl p1.png
check "a list that ours would replace" refuses 2 "$from/failed.jsonl is the input's manifest" data $from $from/scripts az://results/tests '{files: {path: {in}/in, manifest: {in}/failed.jsonl}}' "$network"
check "a table that the rows would replace" refuses 2 "$from/tables/a.csv is the input itself" tables $from - $from '{table: {path: {in}/tables/a.csv}}' "$program" "AppendRow, format: CSV, appendRowFileName: a.csv" "" 16KB
mv "$azurite/stores/films" "$azurite/films"
check "no key" refuses 2 "holds neither azurestorageaccountkey nor azurestorageaccountsastoken" x az://films/tests/data $from/scripts $from "$film" "$network"
mv "$azurite/films" "$azurite/stores/films"
folder=$WINDLASS_STORES_FOLDER
unset WINDLASS_STORES_FOLDER
check "keys are not on this machine" refuses 2 "give --stores DIR" x $from $from/scripts $from "$film" "$network"
export WINDLASS_STORES_FOLDER=$folder

##### no secret is shown ######################################################################
# A job that takes a while: what other users see of its processes while they work.
sed -i 's/request = json.loads(line)/&\n    __import__("time").sleep(0.5)/' "$work/code/look.py"
run slow $from - az://results/tests/made "$pictures" "$program" AppendRow &
for _ in $(seq 30); do
    nap 0.1
    for file in $(grep -lsF "TMPDIR=$work/state" /proc/[0-9]*/environ 2>/dev/null); do
        cat "$file" "${file%environ}cmdline" >>"$work/seen" 2>/dev/null
    done
done
wait
quiet() {
    [ "$(sort -u "$work/secrets" | wc -l)" -ge 4 ] && grep -qa WINDLASS_STORES_FOLDER "$work/seen" && grep -qa WINDLASS_LIFE "$work/seen" || return
    mkdir "$work/kept" && az download films tests/made "$work/kept/films" && az download results tests "$work/kept/results" || return
    ! grep -raF -f "$work/secrets" "$work/said" "$work/seen" "$work/state" "$work/kept" "$work/job.yaml"
}
check "no secret in logs, arguments, environments, termination messages, outputs" quiet
exit $((failures > 0))
