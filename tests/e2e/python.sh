# shellcheck shell=bash
# python.sh: how tests run Python; sourced by tests/run.sh and tests/e2e/lib.sh. pyenv's python3 is a script, and each start
# costs ten times as much as that of Debian's, which also has the packages that tests import: the script's folder goes to the
# end of PATH.
program=$(command -v python3)
if [ -n "$program" ] && read -rn 2 head <"$program" && [ "$head" = '#!' ]; then
    others=:$PATH:
    others=${others//":${program%/*}:"/:}
    others=${others#:}
    ! PATH=$others command -v python3 >/dev/null || PATH=$others${program%/*}
    unset others
fi 2>/dev/null
unset program head
# Tests multiply small matrices: OpenBLAS's threads would only wait for each other, and a thread that waits is busy.
export OPENBLAS_NUM_THREADS=1
