#!/usr/bin/env bash
# `windlass score`: a network over pictures, a film, tables, texts and arrays without a manifest. The form is found and said, what
# cannot be found is refused with the option that says it, and the saved manifest does the same.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/home
mkdir -p "$work/m"
python3 tests/data/models/make.py "$work/m"
cp -r examples/trees/data "$work/trees"
cp -r examples/npy/data "$work/npy"
mkdir "$work/texts"
cp examples/embeddings/data/model/* "$work/texts"
head -n 21 examples/embeddings/data/texts/packages.csv >"$work/texts/packages.csv"
printf 'red\ngreen\nblue\n' >"$work/m/names.txt"
python3 - "$work" <<'P'
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def picture(path, color, size):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress((b"\0" + bytes(color) * size) * size)) + chunk(b"IEND", b"")
    open(path, "wb").write(png)
for i in range(12):
    picture(f"{sys.argv[1]}/photos/my photo {i:02}.png", [(250, 5, 5), (5, 250, 5), (5, 5, 250)][i % 3], 16 + 4 * i)
P
cd "$work" || exit 3
run() { # WORDS...: in $code and the file said
    timeout 120 "$windlass" score "$@" >"$work/said" 2>&1 </dev/null
    code=$?
}
refused() { [ $code -eq 2 ] && grep -qF -- "$1" "$work/said"; }
rows() { [ $code -eq 0 ] && jq -es "$2" "$1" >/dev/null; }

# Pictures.
run m/classes.onnx photos -o out
check "all that the network does not tell is asked for at once" refused '--type '
check "the other one, too" refused '--range ImageNet, Unit, Byte or Signed'
check "and nothing was scored" [ ! -e out/summary.json ]
run m/classes.onnx photos -o out --range Unit --labels m/names.txt --top 1
check "pictures of a folder" rows out/rows.jsonl 'length == 12 and ([.[0:3][].label] | unique | length == 3)'
check "the form is said" grep -qE '^windlass: scores 12 pictures as float32 \[n, 3, .*\], RGB, Unit: the 1 best of 3 classes' said
cp out/rows.jsonl first.jsonl
echo "not a picture" >"photos/my photo 03.png" && echo about >photos/README.txt
run m/classes.onnx photos -o broken --range Unit --labels m/names.txt
check "a broken picture does not end the job, other files are left out" rows broken/rows.jsonl 'length == 11'
check "and is named" jq -es 'length == 1' broken/failed.jsonl
run m/classes.onnx photos -o strict --range Unit --labels m/names.txt --set errorThreshold=0
check "unless a field says so" [ $code -eq 1 ]
cp "photos/my photo 00.png" photos/other.jpg
run m/classes.onnx photos -o mixed --range Unit --labels m/names.txt
check "two endings beside other files are refused" refused "--pattern '*."
run m/classes.onnx photos -o mixed --range Unit --labels m/names.txt --pattern 'my photo 0[0-2]*'
check "a pattern decides" rows mixed/rows.jsonl 'length == 3'
run m/classes.onnx 'photos/my photo 05.png' 'photos/my photo 01.png' -o two --range Unit --labels m/names.txt
check "files that are named, in their order" rows two/rows.jsonl '[.[].file] == ["my photo 05.png", "my photo 01.png"]'
run m/classes.onnx trees/rows -o none --range Unit --labels m/names.txt
check "what the network does not take is refused" refused 'the network takes pictures (.jpg, .png), a video or arrays (.npy)'
run m/names.txt photos -o none
check "another file than a network is refused" [ $code -eq 2 ]
run m/classes.onnx photos -o photos/out --range Unit --type Classes --pattern '*.png'
check "results are not put among the inputs" refused "is in the input's folder"
check "and no folder is made there" [ ! -e photos/out ]
run m/classes.onnx photos -o out --range Unit --labels $'m/n\xff.txt' --pattern '*.png'
check "a word that is not UTF-8 is refused" refused 'is not UTF-8'
run m/classes.onnx photos -o $'o\x7fut' --name out --range Unit --type Classes --pattern '*.png'
check "a name that no path may have is refused" refused 'spec.output.path: '
run m/classes.onnx photos -o out --range Unit --type Classes --pattern '*.png' --set retry.maxTires=2
check "a wrong field is refused with the right one" refused 'maxTries'
# shellcheck disable=SC2046 # words are meant
run m/classes.onnx $(seq 100) -o out
check "very many files: give the folder" refused 'give the folder'

# The manifest.
rm photos/README.txt photos/other.jpg
run m/classes.onnx photos -o out --range Unit --labels m/names.txt --top 1 --save jobs.yaml
check "the manifest is written, and nothing runs" [ $code -eq 0 ]
check "a cluster would take it" "$windlass" check -f jobs.yaml
check "it says what a cluster needs" grep -q 'persistentVolumeClaim: {claimName: work}' jobs.yaml
discard out && mkdir elsewhere
sed -i 's/errorThreshold: .*/errorThreshold: 1/' jobs.yaml
(cd elsewhere && timeout 120 "$windlass" run -f ../jobs.yaml) >said 2>&1 </dev/null
check "and does the same from anywhere" [ "$(jq -s length out/rows.jsonl)" = 11 ]
check "with the same rows" [ "$(grep -vF 'photo 03' first.jsonl | sort)" = "$(sort out/rows.jsonl)" ]
check "a run of it is known by its name" [ "$("$windlass" list | grep -c '^out ')" -ge 1 ]

# A film.
ffmpeg -v error -f lavfi -i testsrc=size=64x48:rate=10:duration=1 -pix_fmt yuv420p film.mp4
run m/invert.onnx film.mp4 -o painted --type Image --range Byte
check "a film becomes a film" [ "$(count_frames painted/film.mp4)" = 10 ]

# Tables, texts and arrays.
run trees/model/trees.onnx trees/rows -o scores/scores.csv
check "which columns: asked for, with their names" refused 'patient, mean_radius'
run trees/model/trees.onnx texts/packages.csv -o none
check "a table with too few columns: it says so" refused '(too few): package, '
run trees/model/trees.onnx trees/rows -o scores/scores.csv --key patient --labels trees/model/names.txt --top 1
check "the columns besides the key are the network's" [ "$(wc -l <scores/scores.csv)" = 170 ]
check "and the rows are those of the example" [ "$(head -n 2 scores/scores.csv | cut -d, -f1-3 | tail -n 1)" = P316,0,benign ]
run texts/model.onnx texts/packages.csv -o vectors --type Embedding --columns text --key package
check "texts, by the tokenizer beside the network" rows vectors/rows.jsonl 'length == 20 and all(.embedding | length == 48) and .[0].package'
run npy/model/digits.onnx npy/digits -o read --labels npy/model/names.txt --top 1
check "arrays" rows read/rows.jsonl 'length > 8 and all(.label)'
exit $((failures > 0))
