#!/usr/bin/env bash
# Sums between GPUs without GPUs: comm "nccl" over tests/fakegpu, which stands in for NCCL and the driver, and over the real
# mpirun. The suite of comms; a whole training with gradients in separate memory, with the same bits as on the CPU;
# a rank whose sum never ends, fails or dies; the messages where libraries or GPUs are missing.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=${BUILD:-build}
make -s fakegpu "$build/windlass-trainer" "$build/tests/conformance/test_comm" "$build/tests/conformance/test_train_device" ||
    { echo "not ok test_nccl: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_SIZE
libraries=$(realpath "$build/tests/fakegpu")
rest_library "$work" || exit 3
mpi() { LD_PRELOAD=$work/rest.so LD_LIBRARY_PATH=$libraries timeout -k 5 300 mpirun --oversubscribe --bind-to none "$@"; }

draw "ranks" 1 2 3
for ranks in "${drawn[@]}"; do
    mpi -np $ranks "$build/tests/conformance/test_comm" nccl >"$work/suite" 2>&1
    code=$?
    grep -E '^(ok|not ok) ' "$work/suite"
    check "the suite on $ranks ranks: all of it, over NCCL" [ "$code $(grep -c "^ok .*, nccl of $ranks\$" "$work/suite")" = "0 8" ]
done
# With two ranks, as with more NCCL and MPI add in different orders.
mpi -np 2 "$build/tests/conformance/test_train_device" nccl >"$work/train" 2>&1
code=$?
grep -E '^(ok|not ok) ' "$work/train"
check "a training on a device of its own, over NCCL: the CPU's bits" [ "$code $(grep -c '^ok .*, nccl of 2$' "$work/train")" = "0 5" ]

# fails FAULT TEXT: the training ends soon with an error that has TEXT.
fails() {
    FAKE_NCCL=$1 PATIENCE_MS=1000 mpi -np 2 "$build/tests/conformance/test_train_device" nccl >"$work/fails" 2>&1
    code=$?
    [ $code -ne 0 ] && [ $code -lt 124 ] && grep -qE "$2" "$work/fails" ||
        { sed 's/^/# /' "$work/fails" | tail -15; echo "# exit $code"; return 1; }
}
check "a sum that never ends is given up" fails hang:1:4 'bucket [0-9]+ of [0-9]+: nothing from the other ranks for 1.0 s'
aborted() { grep -qx 'fake NCCL: aborted' "$work/fails"; }
check "and NCCL's communicator is aborted" aborted
check "an error of NCCL ends it, by name" fails error:0:2 \
    'bucket [0-9]+ of [0-9]+: comm "nccl": a sum between ranks: remote process exited .*: socketProgress: Connection closed'
check "and the communicator is aborted" aborted
check "a rank that dies ends all ranks" fails die:1:3 'Exit code: *9'
check "a rank that NCCL does not take" fails init:1:0 'comm "nccl": ncclCommInitRank: invalid usage'
export WINDLASS_NCCL_SECONDS=2
check "ranks that never meet: after a while, and why" fails meet:1:0 \
    'comm "nccl": ncclCommInitRank: the ranks have not met for 2 s, though MPI has them all'
check "and the communicator is aborted" aborted
new=$libraries libraries=$libraries/old
check "the same with a NCCL whose calls block" fails meet:1:0 '^rank 1: comm "nccl": ncclCommInitRank: the ranks have not met for 2 s'
old() { [ "$(mpi -np 2 "$build/tests/conformance/test_comm" nccl | grep -c '^ok .*, nccl of 2$')" -eq 8 ]; }
check "which does the suite, too" old
libraries=$new
unset WINDLASS_NCCL_SECONDS
check "a rank without a GPU is named by all" fails cuda:1:0 \
    'rank 1: comm "nccl": opening the GPU: no CUDA-capable device is detected \(CUDA error 100\)'
both() { [ "$(grep -c 'rank 1: comm "nccl": opening the GPU' "$work/fails")" -eq 2 ]; }
check "by all" both

missing() { # LIBRARY HINT: one of the libraries is missing
    mkdir -p "$work/some"
    rm -f "$work/some/"*
    for library in libnccl.so.2 libcuda.so.1; do
        if [ $library = "$1" ]; then echo "none" >"$work/some/$library"; else cp "$libraries/$library" "$work/some/"; fi
    done
    LD_LIBRARY_PATH=$work/some timeout 60 mpirun --oversubscribe --bind-to none -np 2 \
        "$build/tests/conformance/test_comm" nccl >"$work/missing" 2>&1
    [ $? -ne 0 ] && grep -qF "comm \"nccl\": $1 cannot be loaded: $2" "$work/missing" || { sed 's/^/# /' "$work/missing"; return 1; }
}
check "without NCCL: which library, which image" missing libnccl.so.2 'the image windlass-trainer-cuda has it'
check "without a driver: the same" missing libcuda.so.1 "it comes with NVIDIA's driver, for pods that ask for gpus"
one() { [ "$(LD_LIBRARY_PATH=$libraries "$build/tests/conformance/test_comm" nccl | grep -c '^ok .*, nccl of 1$')" -eq 8 ]; }
check "one rank needs neither" one
exit $((failures > 0))
