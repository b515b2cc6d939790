#!/usr/bin/env bash
# The unit tests again under AddressSanitizer and UBSan (all of them), and under ThreadSanitizer those
# that tests/tsan.txt lists, modules with threads, and whole jobs (tests/threads.sh).
#   sanitize.sh [address | thread]: only one of the two.
#   SANITIZE_PART: one program of so many (tests/sample.sh); `make sanitize` and the soak run all.
set -u
cd "$(dirname "$0")/.." || exit 3
export UBSAN_OPTIONS=print_stacktrace=1
# Of freed memory the last 16 MB stay poisoned: with the 256 MB that are usual a third of the time goes into new pages.
# The thread-local blocks of libraries that are opened at run time (oneDNN) have no header of which the sanitizer could
# read their size: LeakSanitizer would follow a wild pointer there.
export ASAN_OPTIONS=quarantine_size_mb=16:intercept_tls_get_addr=0
# In a soak, too: the full counts have run without sanitizers.
unset SOAK_ROUNDS
# Of what is drawn or is a long list of cases an eighth (tests/seed.h), and of test_asking an eighth of its states with 20
# jobs: all are run without sanitizers.
export ROUNDS_DIVISOR=8 ASKING_JOBS=20
log=$(mktemp)
trap 'rm -f "$log"' EXIT
part=${SANITIZE_PART:-1}
mapfile -t all < <(find tests/unit tests/conformance -name 'test_*.c' | sort | sed 's/\.c$//' | tests/sample.sh "$part")
# (These are few: of eight in a row at least one.)
mapfile -t threaded < <(sed '/^#/d; s/^/tests\//' tests/tsan.txt | tests/sample.sh $((part > 8 ? 8 : part)))
mkdir -p build
only=${1:-}
for one in ${only:-address thread}; do # only one at a time in each tree
    exec {lock}>"build/sanitize-$one.lock"
    flock "$lock"
done

build() { # sanitizers, programs without their folder
    local sanitizers=$1 folder=build/sanitize-${1//,/-}
    shift
    make -s -j"$(nproc)" CUDA=0 SANITIZE="$sanitizers" "${@/#/$folder/}" >"$log" 2>&1
}

suite() { # name, sanitizers, programs without their folder
    local name=$1 sanitizers=$2 folder=build/sanitize-${2//,/-}
    shift 2
    if build "$sanitizers" "$@" && BUILD=$folder tests/run.sh --again --lanes $(($(nproc) * 2)) "${@/#/$folder/}" >>"$log" 2>&1; then
        sed 's/^/  /' "$log" | grep -v '  CC '
        echo "ok unit tests under $name"
    else
        sed 's/^/  /' "$log" | grep -v '  CC ' | tail -80
        echo "not ok unit tests under $name"
        return 1
    fi
}

bad=0
[ "$only" = thread ] || suite 'ASan and UBSan' address,undefined "${all[@]}" || bad=1
[ "$only" != address ] || exit $bad
suite TSan thread "${threaded[@]}" || bad=1
# Reports inside MPI's own libraries are not ours.
if build thread tests/conformance/test_comm && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    TSAN_OPTIONS=ignore_noninstrumented_modules=1 timeout 600 mpirun --oversubscribe --bind-to none -np 3 \
    build/sanitize-thread/tests/conformance/test_comm >"$log" 2>&1; then
    echo "ok sums over MPI under TSan"
else
    sed 's/^/  /' "$log" | tail -80
    echo "not ok sums over MPI under TSan"
    bad=1
fi
if build thread windlass-agent; then
    BUILD=build/sanitize-thread tests/threads.sh || bad=1
else
    tail -80 "$log"
    echo "not ok windlass-agent is built with TSan"
    bad=1
fi
exit $bad
