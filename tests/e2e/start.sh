# shellcheck shell=bash disable=SC2034 # what is set here is used there
# start.sh: how several end-to-end scripts begin, which source it after lib.sh. Each function sets $build, and $work, a
# folder that is removed at the end, with the processes that the script began.

begin_here() {
    build=$(realpath "${BUILD:-build}")
    work=$(mktemp -d)
    pids=()
    # shellcheck disable=SC2046 # several numbers
    trap 'kill -9 "${pids[@]}" $(jobs -p) 2>/dev/null; ! declare -F net_down >/dev/null || net_down; wait 2>/dev/null; rm -rf "$work"' EXIT
}
# trainer_begins JOB THREADS PACKAGE...: a trainer that is started by hand. Sets $trainer, $data and $out (its volumes),
# and $python, Debian's, which has the packages.
trainer_begins() {
    local job=$1 threads=$2
    shift 2
    # shellcheck source=/dev/null
    . tests/e2e/spec_defaults.sh
    (. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy python3-yaml "$@") || exit 3
    begin_here
    trainer=$work/trainer python=/usr/bin/python3
    make_trainer "$work" "$build/windlass-trainer" || exit 3
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
    unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_SIZE
    export data=$work/data out=$work/out WINDLASS_JOB=$job WINDLASS_RUN=00000000000000aa WINDLASS_THREADS=$threads
    mkdir -p "$data" "$out"
}
# sweep_begins: for `windlass run` of $work/sweep.yaml, with the volume $work/out. Sets $windlass.
sweep_begins() {
    local folder=${BUILD:-build}
    built "$folder/windlass" "$folder/windlass-agent" "$folder/windlass-trainer" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
    begin_here
    unset WINDLASS_STORES_FOLDER
    windlass=$build/windlass
    mkdir "$work/out"
}
# run_sweep SECONDS: sets $code; `show` then prints what it said, after a failure.
run_sweep() {
    timeout -k 5 "$1" "$windlass" run -f "$work/sweep.yaml" --state "$work/state" --workers 4 >"$work/said" 2>"$work/told" </dev/null
    code=$?
}
show_sweep() { [ "$failures" -eq 0 ] || sed 's/^/# /' "$work/said" "$work/told"; }
# machines_begin PROGRAM...: three pods that are network namespaces, and a fourth machine (tests/netns.bash). The script
# puts the processes of its pods into the array pids.
machines_begin() {
    local program
    # shellcheck source=/dev/null
    . tests/netns.bash
    net_possible || { echo "skip ${0##*/}: network namespaces want root"; exit 0; }
    for program in "$@"; do
        built "${BUILD:-build}/$program" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
    done
    begin_here
    net_up 4 none || { echo "not ok ${0##*/}: no network namespaces"; exit 1; }
    make_certificate "$work" || exit 3
}
