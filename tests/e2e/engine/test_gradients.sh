#!/usr/bin/env bash
# Gradients against PyTorch's in double precision, the same weights in both (python3-onnx): MLP, CNN, ResNet-50.
# With our masks and maxima each gradient is within 1e-4; without them too, if none differs; otherwise (ResNet), over
# all seeds, the distance is at most 1.2 times that of PyTorch's own single precision.
# The bits are the same for any number of threads.
# `make soak` (SOAK_ROUNDS): ResNet-50 at 224x224, five seeds.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-torch python3-onnx python3-numpy) || exit 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
agent=${BUILD:-build}/windlass-agent
seed=${SOAK_SEED:-1}
python=/usr/bin/python3 # Debian's python, which has these packages
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"

warm_python "$python" tests/e2e/engine/gradients.py numpy onnx torch torch.nn
make_network() { # NAME KIND SEED SIZE BATCH
    mkdir -p "$folder/$1" && ask_python make "$folder/$1" "${@:2}"
}
ours() { # NAME OUT [OPTION ...]
    local keep=() name
    while read -r name; do keep+=(--keep "$name"); done <"$folder/$1/keep"
    mkdir -p "$2"
    "$agent" model gradients "$folder/$1/model.onnx" --input "$folder/$1/input.pb" --target "$folder/$1/target.pb" \
        --output-dir "$2" "${keep[@]}" "${@:3}" >"$2/log" 2>"$2/errors" || { sed 's/^/# /' "$2/errors"; return 1; }
}
agrees() { # NAME
    ask_python compare "$folder/$1" "$folder/$1/out"
}
same_bits() { # NAME
    ours "$1" "$folder/$1/one" --threads 1 && ours "$1" "$folder/$1/three" --threads 3 &&
        diff -r "$folder/$1/one" "$folder/$1/three"
}

for kind in mlp cnn; do
    size=28
    make_network $kind $kind "$seed" $size 16 || exit 3
    check "$kind: gradients are computed" ours $kind "$folder/$kind/out"
    check "$kind: as PyTorch in double precision" agrees $kind
    check "$kind: with the plain kernels, too" ours $kind "$folder/$kind/out" --device reference
    check "$kind: which agree" agrees $kind
done
check "one thread and three make the same bits" same_bits cnn

size=64 rounds=1
[ -z "${SOAK_ROUNDS:-}" ] || size=224 rounds=5
for ((round = 0; round < rounds; round++)); do
    make_network resnet$round resnet50 $((seed + round)) $size 4 || exit 3
    check "ResNet-50 at $size: gradients are computed" ours resnet$round "$folder/resnet$round/out"
    check "ResNet-50: with our masks as double precision" agrees resnet$round
done
# A few of tens of millions of masks cause the distance of one seed, and by chance they differ for one program and not for
# the other: five seeds are compared, and one is within what a few masks do.
no_further() {
    cat "$folder"/resnet*/out/apart 2>/dev/null | awk '{a += $1 * $1; b += $2 * $2}
        END {if (NR) print "# " NR " seeds:", sqrt(a / NR), "from it, PyTorch", sqrt(b / NR); exit NR < 5 ? a > NR * 0.05 * 0.05 : a > 1.44 * b}'
}
check "without them within 0.05, and over five seeds no further than 1.2 times PyTorch's single precision" no_further

##### what is refused #############################################################################
refused() { # SENTENCE OPTION ...
    local sentence=$1
    shift
    "$agent" model gradients "$folder/cnn/model.onnx" --output-dir "$folder/refused" "$@" \
        >"$folder/said" 2>&1 && return 1
    grep -qF -- "$sentence" "$folder/said" || { sed 's/^/# /' "$folder/said"; return 1; }
}
both=(--input "$folder/cnn/input.pb" --target "$folder/cnn/target.pb")
check "no target is refused" refused "--target FILE.pb are needed" --input "$folder/cnn/input.pb"
check "an unknown loss is refused" refused "binary-cross-entropy, huber or ctc is expected" "${both[@]}" --loss hinge
check "a target that does not fit is refused" refused "target" "${both[@]}" --target "$folder/cnn/input.pb"
check "an unknown value is refused" refused 'has no value "everyone"' "${both[@]}" --keep everyone
check "all frozen is refused" refused "no weights that could be trained" "${both[@]}" --freeze '*'
# With a GPU: the message about missing kernels; otherwise: no GPU, or no CUDA in this build.
check "a device that cannot is refused by name" refused 'device "cuda"' "${both[@]}" --device cuda
exit $((failures > 0))
