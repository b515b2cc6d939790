#!/usr/bin/env bash
# What a result says about itself: the code of a command among the files of the scorer, result.json with the hashes
# of everything in the output, and windlass verify, which reads it all again.
set -u
unset CUDA_VISIBLE_DEVICES
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code/lib" "$work/data/in"
for i in 0 1 2 3 4 5 6 7; do echo "$i" >"$work/data/in/f$i"; done

# It scores with value.py in lib/. A file "stop" makes it end, once, with another value.py in place.
cat >"$work/code/score.py" <<'PY'
import json, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from value import VALUE
swap = os.path.join(os.path.dirname(os.path.abspath(__file__)), "swap")
for line in sys.stdin:
    asked = json.loads(line)
    if "init" in asked:
        print('{"ready":true}', flush=True)
        continue
    if os.path.exists(swap) and any(name.endswith("f5") for name in asked["items"]):
        os.rename(swap, os.path.join(os.path.dirname(swap), "lib", "value.py"))
        sys.exit(1)
    if os.path.exists(swap + ".block"):
        os.makedirs(open(swap + ".block").read().strip() + "/result.json/x", exist_ok=True)
    if os.path.exists(swap + ".late"):
        for name in (open(swap + ".late").read().strip() + "/result.json", os.path.dirname(swap) + "/stated"):
            open(name, "w").write("{}")
    if os.path.exists(swap + ".fail"):
        print(json.dumps({"id": asked["id"], "error": "no"}), flush=True)
        continue
    print(json.dumps({"id": asked["id"], "results": [VALUE for _ in asked["items"]]}), flush=True)
PY
echo 'VALUE = "one"' >"$work/code/lib/value.py"
echo 'VALUE = "two"' >"$work/two.py"

job() { # NAME [MODE [MORE-OF-THE-SPEC]]: runs it into data/NAME; its exit code is in $code
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: data/in}}
  scorer: {command: {command: [python3, \$(code)/score.py]}}
  output: {path: data/$1, mode: ${2:-AppendRow}}
  miniBatchSize: 1
  retry: {maxTries: 2, timeoutSeconds: 20}
  workers: {min: 1, max: 1}
  ${3:-}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" --secrets "$work/secrets" >"$work/$1.log" 2>&1 </dev/null
    code=$?
}
sha() { sha256sum "$1" | cut -d' ' -f1; }

##### the code of a command ######################################################################
job plain
check "a job with a program succeeds" [ $code -eq 0 ]
check "its summary names the program's code by SHA-256" [ "$(jq -cS .files "$work/data/plain/summary.json")" = \
    "{\"scorer.command: code/lib/value.py\":\"$(sha "$work/code/lib/value.py")\",\"scorer.command: code/score.py\":\"$(
        sha "$work/code/score.py")\"}" ]
cp "$work/two.py" "$work/code/swap"
job swapped
check "a job whose program was replaced while it ran fails" [ $code -eq 1 ]
check "and says which file" grep -q "spec.scorer.command: code/lib/value.py changed while the job ran: a program that \
starts now would read a file with SHA-256 $(sha "$work/two.py" | cut -c1-12)" "$work/swapped.log"
check "no row is of the other code" [ "$(sort -u "$work/data/swapped/rows.txt" | xargs)" = one ]

# What variables name, and what links in the code's folder lead to, is the program's, too.
mkdir -p "$work/code/app" "$work/code/shared" "$work/data/models"
echo 'VALUE = "three"' >"$work/code/shared/value.py"
echo net >"$work/data/models/net.pt"
sed 's/^swap = /open(os.environ["NET"])\n&/' "$work/code/score.py" >"$work/code/app/score.py"
ln -s ../shared "$work/code/app/lib"
variables() { # NAME: `job`, with variables
    sed -i 's|scorer: .*|scorer: {command: {command: [python3, $(code)/app/score.py], environment: {NET: $(data)/models/net.pt}}}|' "$work/$1.yaml"
    timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" "${@:2}" >"$work/$1.log" 2>&1 </dev/null
    code=$?
}
sed 's/plain/around/' "$work/plain.yaml" >"$work/around.yaml"
variables around
check "files that variables name, and those behind links, are named" [ "$code $(jq -r '.files | keys | map(ltrimstr("scorer.command: ")) | join(" ")' "$work/data/around/summary.json")" = \
    "0 code/app/lib/value.py code/app/score.py data/models/net.pt" ]
echo other >"$work/data/models/net.pt"
variables around
check "a rerun says that one is another" eval '[ $code -eq 2 ] && grep -q "data/models/net.pt: the file.s SHA-256 was " "$work/around.log"'
echo net >"$work/data/models/net.pt"
echo 'VALUE = "four"' >"$work/code/shared/value.py"
variables around
check "and the same of one behind a link" eval '[ $code -eq 2 ] && grep -q "code/app/lib/value.py: the file.s SHA-256 was " "$work/around.log"'
variables around --restart
check "--restart scores with it" [ "$code $(sort -u "$work/data/around/rows.txt")" = "0 four" ]

##### result.json and windlass verify ############################################################
verify() { "$windlass" verify "$work/data/$1" "${@:2}" >"$work/said" 2>&1 </dev/null; }
verdict() { verify "$1" "${@:2}"; echo "$?$(sed -n '$p' "$work/said" | sed -E 's/.*(holds|does not hold) what.*/ \1/')"; }
check "a job's output holds what its result.json says" [ "$(verdict plain)" = "0 holds" ]
result=$work/data/plain/result.json
check "result.json names the rows by SHA-256" \
    [ "$(jq -r '.outputs[] | "\(.name) \(.sha256)"' "$result")" = "rows.txt $(sha "$work/data/plain/rows.txt")" ]
check "and the manifest, whose hash anyone can compute again" \
    [ "$(jq -cjS .manifest "$result" | sha256sum | cut -d' ' -f1)" = "$(jq -r .manifestSHA256 "$result")" ]
check "the manifest is this job's" [ "$(jq -r '.manifest | .kind + .metadata.name + .spec.output.path' "$result")" = \
    BatchScoreplaindata/plain ]
check "and the counts, the program and the input" jq -e '.counts.items == {total:8,done:8,failed:0,retried:0}
    and .input.items == 8 and (.input.sha256 | length) == 64 and (.program.sha256 | length) == 64' "$result"
check "a failed job has no result.json" [ ! -e "$work/data/swapped/result.json" ]
check "verify says so, with 2" [ "$(verdict swapped)" = "2$(cat "$work/said")" ]
check "and whose output it is" grep -q 'job swapped is still running there or has not succeeded' "$work/said"
echo x >"$work/data/plain/stale"
check "a file of no run is found" [ "$(verdict plain)" = "1 does not hold" ]
check "and named" grep -q '^not made by this run *stale$' "$work/said"
check "it may be allowed" [ "$(verdict plain --allow-extra)" = "0 holds" ]
rm "$work/data/plain/stale"
# (A name that goes up a line could write "holds" over the verdict.)
cp "$result" "$work/result.json"
jq -c '.name = "plain\u001b]0;x\u0007\u202e"' "$work/result.json" >"$result"
odd=$'x\e[1Ay\xe2\x80\xae'
touch "$work/data/plain/$odd"
check "a name does not act on a terminal" [ "$(verdict plain)" = "1 does not hold" ]
check "it is shown" grep -qxE 'not made by this run *x\\x1B\[1Ay\\u202E' "$work/said"
check "and so is the job's" grep -qF 'BatchScore plain\x1B]0;x\x07\u202E, completed' "$work/said"
verify plain -o json
check "JSON has it, escaped" eval '! LC_ALL=C grep -q "[^ -~]" "$work/said" && [ "$(jq -r ".extra.names[]" "$work/said")" = "$odd" ]'
rm "$work/data/plain/$odd"
mv "$work/result.json" "$result"
printf X | dd of="$work/data/plain/rows.txt" conv=notrunc status=none
check "a changed byte is found" [ "$(verdict plain)" = "1 does not hold" ]
check "and its file named" grep -q '^changed *rows.txt$' "$work/said"
check "as JSON, too" [ "$("$windlass" verify "$work/data/plain" -o json | jq -c '[.holds, .changed.names]')" = \
    '[false,["rows.txt"]]' ]
check "a folder without a result gives 2" [ "$(verdict in)" = "2$(cat "$work/said")" ]

cp "$work/two.py" "$work/code/lib/value.py"
job files PerFile
check "an output of files holds" [ "$(verdict files)" = "0 holds" ]
check "its list has them in the order of the input" [ "$(jq -r '.[0]' "$work/data/files/outputs.jsonl" | xargs)" = \
    "f0.json f1.json f2.json f3.json f4.json f5.json f6.json f7.json" ]
"$windlass" verify "$work/data/files" -o json >/dev/full 2>"$work/said"
check "a verdict that cannot be printed is none" [ "$? $(cat "$work/said")" = "3 windlass verify: cannot write to standard output: No space left on device" ]
check "with their hashes" [ "$(jq -r '.[2]' "$work/data/files/outputs.jsonl" | sed -n 3p)" = \
    "$(sha "$work/data/files/f2.json")" ]
unread() { # FILE: it may not be read, by root neither. The exit code is in $code
    local without=()
    [ "$(id -u)" != 0 ] || without=(setpriv --bounding-set=-dac_override,-dac_read_search)
    chmod 0 "$work/data/files/$1"
    "${without[@]}" "$windlass" verify "$work/data/files" "${@:2}" >"$work/said" 2>&1 </dev/null
    code=$?
    chmod 644 "$work/data/files/$1"
}
unread f3.json
check "an output with a file that may not be read cannot be checked" eval '[ $code = 3 ] &&
    grep -q "^permission denied *f3.json$" "$work/said" && grep -q "/files cannot be checked, files may not be read: " "$work/said"'
unread outputs.jsonl -o json
check "nor one with such a list, whose files are not another run's" [ "$code $(jq -c '[.holds, .denied.names, .extra.count, .listedFiles]' "$work/said")" = \
    '3 [null,["outputs.jsonl"],0,"unchecked"]' ]
touch "$work/data/files/rest"
unread f3.json
check "one with a file of no run besides does not hold" eval '[ $code = 1 ] && grep -q "^not made by this run *rest$" "$work/said"'
rm "$work/data/files/rest"
rm "$work/data/files/f3.json"
check "a missing file is found" [ "$(verdict files)" = "1 does not hold" ]
check "by its name" grep -q '^missing *f3.json$' "$work/said"

# An input of other items under the name of a run that has ended: the result of the first must not remain beside a
# failure of the second.
rm -rf "$work/data/files/.windlass"
touch "$work/code/swap.fail"
job files PerFile
check "a job that fails leaves no result of an earlier one" [ $code -eq 1 -a ! -e "$work/data/files/result.json" ]
# Nor one that another coordinator has stated while this one was stopped.
echo "$work/data/outrun" >"$work/code/swap.late"
job outrun PerFile
check "nor one of another coordinator" [ $code -eq 1 -a -e "$work/code/stated" -a ! -e "$work/data/outrun/result.json" ]
rm "$work/code/swap.fail" "$work/code/swap.late"

# A summary counts only with its result, whenever the coordinator ended.
rm -rf "$work/data/plain"
rm -f "$work/code/swap.fail"
job plain
rm "$work/data/plain/result.json"
job plain
check "a run whose result.json is gone is not believed" [ "$code $(verdict plain)" = "0 0 holds" ]
check "run once more, there is nothing to do" eval 'job plain; [ $code -eq 0 ] && grep -q "nothing to do" "$work/plain.log"'
rm "$work/data/plain/result.json"
jq 'del(.result)' "$work/data/plain/summary.json" >"$work/old.json" && cp "$work/old.json" "$work/data/plain/summary.json"
job plain
check "the summary of a release without result.json is believed" \
    [ "$code $(grep -c 'nothing to do' "$work/plain.log") $(ls "$work/data/plain" | grep -c result)" = "0 1 0" ]
rm -rf "$work/data/plain"
job plain
echo "$work/data/blocked" >"$work/code/swap.block"
job blocked
check "a job that cannot write result.json has failed" [ $code -eq 1 ]
check "and says so" grep -q 'blocked failed: all items are done, but result.json cannot be written' "$work/blocked.log"
check "so does its summary" [ "$(jq -r .state "$work/data/blocked/summary.json")" = Failed ]
rm -r "$work/data/blocked/result.json" "$work/code/swap.block"
job blocked
check "with room for it the same run succeeds" [ "$code $(verdict blocked)" = "0 0 holds" ]
mkdir -p "$work/data/untold/summary.json/x"
job untold
check "a job that cannot write its summary has failed" [ "$code $(ls "$work/data/untold" | grep -c result)" = "1 0" ]
check "and names it" grep -q 'untold failed: all items are done, but the report or summary cannot be written: data/untold/summary.json: Is a directory' "$work/untold.log"
rm -r "$work/data/untold/summary.json"
job untold
check "with room for it the same run succeeds" [ "$code $(verdict untold)" = "0 0 holds" ]
mkdir -p "$work/data/paged/report.html/x"
echo old | tee "$work/data/paged/workers.csv" >"$work/data/paged/mini_batches.csv"
job paged
check "a job that cannot write its report succeeds, and says so" eval '[ $code -eq 0 ] && grep -q "^  lost  *report" "$work/paged.log" && ! grep -q "^  report " "$work/paged.log" && [ "$(jq -r ".lost[].what" "$work/data/paged/summary.json")" = report ]'
check "an earlier run's report is gone, and result.json names none" eval '[ "$(jq -r ".reports[].name" "$work/data/paged/result.json")" = summary.json ] && ! compgen -G "$work/data/paged/*.csv"'
check "and the output holds" [ "$(verdict paged)" = "0 holds" ]
mkdir "$work/data/stuck" && echo old >"$work/data/stuck/workers.csv"
trap 'chattr -f -R -i "$work/data/stuck"; rm -rf "$work"' EXIT
if chattr -f +i "$work/data/stuck/workers.csv"; then
    job stuck
    chattr -i "$work/data/stuck/workers.csv"
    check "result.json does not name an earlier run's report that cannot be removed" eval '[ $code -eq 0 ] && [ "$(jq -r ".reports[].name" "$work/data/stuck/result.json")" = summary.json ]'
    check "and the summary says that it stays" grep -q "there may be an earlier run's" "$work/data/stuck/summary.json"
    rm -r "$work/data/stuck"
else
    echo "skip a report that cannot be removed: files cannot be made immutable here"
fi
# Of the report an obstacle may cost a page, but not the names of items that have failed.
ln -sf /etc/passwd "$work/data/in/away"
mkdir -p "$work/data/unnamed/failed.jsonl/x"
job unnamed AppendRow 'errorThreshold: -1'
check "a job that cannot name what has failed has failed" [ "$code $(ls "$work/data/unnamed" | grep -c result)" = "1 0" ]
check "and says so" grep -q 'the report or summary cannot be written: .*data/unnamed/failed.jsonl: Is a directory' "$work/unnamed.log"
rm -r "$work/data/unnamed/failed.jsonl"
job unnamed AppendRow 'errorThreshold: -1'
check "with room for them it succeeds, and names them" eval '[ "$code $(verdict unnamed)" = "0 0 holds" ] && grep -q "away.*leaves the volume" "$work/data/unnamed/failed.jsonl"'
rm "$work/data/in/away"

##### signatures #################################################################################
mkdir -p "$work/secrets/results"
openssl genpkey -algorithm ed25519 -out "$work/secrets/results/key.pem" 2>/dev/null
openssl pkey -in "$work/secrets/results/key.pem" -pubout -out "$work/public.pem"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$work/other.pem"
openssl genpkey -algorithm RSA -out "$work/secrets/results/rsa.pem" 2>/dev/null
signs='signingKey: {secretName: results, key: key.pem}'
job signed AppendRow "$signs"
check "a signed result holds with its key" [ "$code $(verdict signed --key "$work/public.pem")" = "0 0 holds" ]
check "and not with another" [ "$(verdict signed --key "$work/other.pem")" = "1 does not hold" ]
check "without a key verify says that it was not checked" eval \
    'verify signed && grep -q "its signature was not checked" "$work/said"'
check "an unsigned result does not hold with a key" [ "$(verdict plain --key "$work/public.pem")" = "1 does not hold" ]
check "no worker has seen the key" eval '! grep -rlE "PRIVATE KEY|SIGNING" "$work/data/signed" "$work/state-signed" | grep .'

# Applied again, what is there is called done only if this job's key has signed it.
job signed AppendRow "$signs"
check "applied again: nothing to do" eval '[ $code -eq 0 ] && grep -q "nothing to do" "$work/signed.log"'
openssl genpkey -algorithm ed25519 -out "$work/secrets/results/next.pem" 2>/dev/null
openssl pkey -in "$work/secrets/results/next.pem" -pubout -out "$work/next.pem"
job signed AppendRow "${signs/key.pem/next.pem}"
check "with another key it is refused (code $code)" [ $code -eq 2 ]
check "in words" grep -q 'spec.signingKey: data/signed/result.json of the last run is not signed with this key: rerun with --restart' "$work/signed.log"
check "and what is there stays signed" [ "$(verdict signed --key "$work/public.pem")" = "0 holds" ]
job plain AppendRow "$signs"
check "so is a result without a signature (code $code)" [ $code -eq 2 ]
restart() { timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" --secrets "$work/secrets" --restart >"$work/$1.log" 2>&1 </dev/null; code=$?; }
job signed AppendRow "${signs/key.pem/next.pem}"
restart signed
check "--restart signs anew (code $code)" [ "$code $(verdict signed --key "$work/next.pem")" = "0 0 holds" ]
job signed AppendRow "$signs"
restart signed
check "and back (code $code)" [ "$code $(verdict signed --key "$work/public.pem")" = "0 0 holds" ]

# Other programs check the same bytes.
envelope=$work/data/signed/result.intoto.jsonl
jq -r .payload "$envelope" | base64 -d >"$work/payload"
jq -r '.signatures[0].sig' "$envelope" | base64 -d >"$work/signature"
printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(stat -c %s "$work/payload")" | cat - "$work/payload" >"$work/encoded"
check "openssl agrees" openssl pkeyutl -verify -pubin -inkey "$work/public.pem" -rawin -in "$work/encoded" \
    -sigfile "$work/signature"
check "the statement is in-toto's, about result.json and the rows" [ "$(jq -r '._type, .predicateType,
    (.subject[] | .name + " " + .digest.sha256)' "$work/payload")" = "https://in-toto.io/Statement/v1
https://windlass.dev/result/v1
result.json $(sha "$work/data/signed/result.json")
rows.txt $(sha "$work/data/signed/rows.txt")" ]
if python3 -c 'import cryptography' 2>/dev/null; then
    check "so does python3-cryptography" python3 - "$work" <<'PY'
import sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
read = lambda name: open(f"{sys.argv[1]}/{name}", "rb").read()
load_pem_public_key(read("public.pem")).verify(read("signature"), read("encoded"))
PY
fi
cp "$work/data/signed/result.json" "$work/kept.json"
sed -i 's/"done": 8/"done": 7/' "$work/data/signed/result.json"
check "a result that was changed after it was signed is found" eval \
    '[ "$(verdict signed --key "$work/public.pem")" = "1 does not hold" ] && grep -q "about another result.json" "$work/said"'
cp "$work/kept.json" "$work/data/signed/result.json"
job unsigned AppendRow 'signingKey: {secretName: results, key: rsa.pem}'
check "a key of another kind ends the job before anything is scored" [ "$code$(ls -A "$work/data/unsigned" 2>/dev/null)" = 2 ]
check "and says what is expected" grep -q 'spec.signingKey: a key of another algorithm, expected an ed25519' "$work/unsigned.log"
job missing AppendRow 'signingKey: {secretName: results, key: none.pem}'
check "so does a key that is missing" eval '[ $code -eq 2 ] && grep -q "spec.signingKey: .*none.pem" "$work/missing.log"'
[ $failures -eq 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
rm -rf "$work/data/files" # it was changed on purpose

##### results that are gone from the output before the job ends ####################################
mkdir -p "$work/loses/in" "$work/loses/code"
for i in 0 1 2 3 4; do echo "$i" >"$work/loses/in/f$i"; done
# The line of `lose` says: when this item comes, and these files are there, this is done to them.
cat >"$work/loses/code/score.py" <<'PY'
import json, os, sys, time
here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for line in sys.stdin:
    asked = json.loads(line)
    if "init" in asked:
        print('{"ready":true}', flush=True)
        continue
    if os.path.exists(here + "/lose"):
        item, gone, cut = open(here + "/lose").read().split()
        if any(name.endswith(item) for name in asked["items"]):
            while not (os.path.exists(gone) and os.path.exists(cut)):
                time.sleep(0.05)
            os.remove(here + "/lose")
            os.remove(gone)
            open(cut, "w").close()
    print(json.dumps({"id": asked["id"], "results": [open(name).read() for name in asked["items"]]}), flush=True)
PY
cat >"$work/loses/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: loses}
spec:
  input: {files: {path: loses/in}}
  scorer: {command: {command: [python3, \$(loses)/code/score.py]}}
  output: {path: loses/out}
  miniBatchSize: 1
  workers: {max: 1}
  volumes: [{name: loses, persistentVolumeClaim: {claimName: loses}}]
M
lose() { # ITEM GONE CUT, or an option
    [ $# -ne 3 ] || echo "$1 $work/loses/out/$2 $work/loses/out/$3" >"$work/loses/lose"
    [ $# -eq 3 ] || set -- '' '' '' "$@"
    timeout 120 "$windlass" run "${@:4}" -f "$work/loses/job.yaml" --state "$work/loses/state" --volume "loses=$work/loses" >"$work/log" 2>&1 </dev/null
    code=$?
}
is_whole() { [ $code -eq 0 ] && "$windlass" verify "$work/loses/out" >/dev/null && [ "$(cat "$work/loses/out/"f?.json | xargs)" = "$1" ]; }
lose f4 f0.json f1.json
check "results that go while the job runs are written once more" is_whole '0\n 1\n 2\n 3\n 4\n'
check "and its log says so" grep -rqs '2 results are gone from the output or have another size, such as f0.json: they are written once more' "$work/loses/state"
echo 5 >"$work/loses/in/f5"
lose f5 f2.json f3.json
check "kept ones of an earlier run end the job" [ "$code $(grep -c '2 results of an earlier run are gone or have another size since this one began, such as f2.json: .*--restart' "$work/log" | sed 's/[1-9]/some/')" = "1 some" ]
check "and nothing says that it is whole" [ ! -e "$work/loses/out/result.json" ]
lose --restart
check "and are made again by --restart" is_whole '0\n 1\n 2\n 3\n 4\n 5\n'

##### an output that is deleted, or moved away, while the job runs ################################
begin() { # NAME: its program deletes the output at f1 ("gone"), or puts an empty folder in its place at f2 ("moved")
    mkdir -p "$work/$1/in"
    for i in 0 1 2; do echo "$i" >"$work/$1/in/f$i"; done
    cat >"$work/$1/score.py" <<'PY'
import json, os, shutil, sys
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")
for line in sys.stdin:
    asked = json.loads(line)
    has = lambda name: any(item.endswith(name) for item in asked.get("items", []))
    while sys.argv[1] == "gone" and has("f1") and os.path.exists(out):
        shutil.rmtree(out, ignore_errors=True)
    if sys.argv[1] == "moved" and has("f2") and not os.path.exists(out + "-away"):
        os.rename(out, out + "-away")
        os.mkdir(out)
    print(json.dumps({"ready": True} if "init" in asked else {"id": asked["id"], "results": [1 for _ in asked["items"]]}), flush=True)
PY
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: $1/in}}
  scorer: {command: {command: [python3, \$($1)/score.py, $1]}}
  output: {path: $1/out}
  miniBatchSize: 1
  workers: {min: 1, max: 1}
  volumes: [{name: $1, persistentVolumeClaim: {claimName: $1}}]
M
    again "$1"
}
again() { # NAME: its process is $pid
    timeout 300 "$windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" --volume "$1=$work/$1" >"$work/$1/log" 2>&1 </dev/null &
    pid=$!
}
begin gone
gone=$pid
begin moved
moved=$pid
waits() { grep -q "^gone: Running: .*; waits for the output's storage: gone/out: no such file" "$work/gone/log"; }
check "without its output a job says what it waits for" until_true_while $gone 60 waits
joins() { grep -q "^moved: $1.*; waits for the output's storage: moved/out/.windlass/.*/commit/000000000000: [Nn]o such file" "$work/moved/log"; }
check "and so does one whose output was moved away" until_true_while $moved 60 joins Joining:
if [ -n "${SOAK_ROUNDS:-}" ]; then # it waits for a minute, as long as a network's folders may seem absent
    wait $gone
    check "and fails with the reason (code $?)" grep -q '^windlass: gone failed: gone/out was deleted while the job ran: ' "$work/gone/log"
    lacks='^windlass: moved failed: .*moved/out/.windlass/.*/commit/000000000000 is missing, although later commits exist '
    wait $moved
    check "the other one, too (code $?)" grep -q "$lacks" "$work/moved/log"
    again moved
    check "so does the next run" until_true_while $pid 60 joins Listing
    wait $pid
    check "and ends with the same reason (code $?)" grep -q "$lacks" "$work/moved/log"
else
    kill $gone $moved
    wait $gone $moved
fi
exit $((failures > 0))
