#!/usr/bin/env bash
# one.sh "NAME..." TEST...: of all these tests, builds and runs those with these names (make test T=NAME). A name is a file's
# without its ending: test_error, test_run, includes, fuzz_onnx; "test_" and "fuzz_" may be left out. Two tests of one name
# both run, unless a folder says which: sweep/test_plan. For an unknown name it prints the nearest ones and exits with 2.
set -u
cd "$(dirname "$0")/.." || exit 3
make=${MAKE:-make}
read -ra names <<<"$1"
shift

# The tests with a name: by the whole name, otherwise by the name without its prefix.
matching() {
    local wanted=${1##*/} folder= prefix test base found=1
    wanted=${wanted%.sh} wanted=${wanted%.c}
    [ "${1##*/}" = "$1" ] || folder=${1%/*}
    shift
    for prefix in '' test_ fuzz_; do
        for test in "$@"; do
            base=${test##*/}
            [ "${base%.*}" = "$prefix$wanted" ] || continue
            case /${test%/*} in */"$folder") echo "$test" && found=0 ;; esac
            [ -n "$folder" ] || { echo "$test" && found=0; }
        done
        [ $found -ne 0 ] || return 0
    done
    return 1
}
nearest() {
    python3 - "$@" <<'P'
import difflib, os, sys
bare = lambda path: os.path.splitext(os.path.basename(path))[0].removeprefix("test_").removeprefix("fuzz_")
wanted, known = bare(sys.argv[1]), {}
for path in sys.argv[2:]:
    known.setdefault(bare(path), set()).add(os.path.splitext(os.path.basename(path))[0])
near = difflib.get_close_matches(wanted, known, 6, 0.5)
near += [name for name in sorted(known) if wanted in name and name not in near][:6]
for name in near:
    print("  " + " ".join(sorted(known[name])))
P
}

targets=() programs=() fuzzers=()
for name in "${names[@]}"; do
    if ! found=$(matching "$name" "$@"); then
        { echo "no test is called $name; the nearest names:"; nearest "$name" "$@"; } >&2
        exit 2
    fi
    while read -r test; do
        case $test in
        tests/fuzz/*) test=${test##*/fuzz_} && fuzzers+=("${test%.c}") ;;
        tests/lint/*) targets+=(windlass) programs+=("$test") ;;
        tests/e2e/endpoint/*) targets+=(all "${BUILD:-build}/tests/endpoint/model_server") programs+=("$test") ;;
        *.sh) targets+=(all) programs+=("$test") ;;
        *) targets+=("$test") programs+=("$test") ;;
        esac
    done < <(printf '%s\n' "$found" | sort -u)
done
if [ ${#fuzzers[@]} -gt 0 ]; then
    "$make" -s --no-print-directory fuzzers-build FUZZ_ONLY="${fuzzers[*]}" || exit
    export FUZZ_ONLY=${fuzzers[*]}
    programs+=(tests/fuzz.sh)
fi
[ ${#targets[@]} -eq 0 ] || "$make" -s --no-print-directory "${targets[@]}" || exit
tests/run.sh --show "${programs[@]}"
