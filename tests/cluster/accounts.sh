# shellcheck shell=bash
# accounts.sh: what programs, and the servers that they start, take of the processors. Sourced.
# Each account is a cgroup: it counts all that is started in it. (`times` counts what was waited for, so no server.) Of
# version 1 (cpuacct) or 2, whichever this machine has; without the right to make one nothing is counted.
worked_in() { # cgroup: seconds of a processor; nothing if there is none
    cat "$1"/cpuacct.usage "$1"/cpu.stat | awk 'NF == 1 { print $1 / 1e9 } $1 == "usage_usec" { print $2 / 1e6 }'
} 2>/dev/null
# open_accounts NAME: makes the folder of accounts, $WINDLASS_ACCOUNTS, in this process's own cgroup.
open_accounts() {
    local controllers path folder=
    while IFS=: read -r _ controllers path; do
        case $controllers in
        *cpuacct*) folder=/sys/fs/cgroup/cpuacct$path; break ;;
        '') folder=/sys/fs/cgroup$path ;;
        esac
    done </proc/self/cgroup
    export WINDLASS_ACCOUNTS=
    # Where an account is also a share of the processors, `nice` would count inside it only: none is opened.
    if [ -n "$(worked_in "$folder")" ] && mkdir "$folder/$1"; then
        if [ -e "$folder/$1/cpu.shares" ] || [ -e "$folder/$1/cpu.weight" ]; then
            rmdir "$folder/$1"
        else
            WINDLASS_ACCOUNTS=$folder/$1
        fi
    fi
} 2>/dev/null
# on_account NAME COMMAND...: this shell goes to that account and becomes the command: call it in a subshell.
on_account() {
    local name=$1
    shift
    if [ -n "${WINDLASS_ACCOUNTS:-}" ] && mkdir -p "$WINDLASS_ACCOUNTS/$name"; then
        { echo "$BASHPID" >"$WINDLASS_ACCOUNTS/$name/cgroup.procs" || rmdir "$WINDLASS_ACCOUNTS/$name"; } 2>/dev/null
    fi
    exec "$@"
}
close_accounts() {
    [ -z "${WINDLASS_ACCOUNTS:-}" ] || find "$WINDLASS_ACCOUNTS" -depth -type d -exec rmdir {} + 2>/dev/null
}
