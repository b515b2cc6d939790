#!/usr/bin/env bash
# A program that a warm process runs (tests/warm) is for its caller what it is without one: output, exit code, descriptors,
# folder, environment, limits, signals; and it ends with its caller.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
work=$(mktemp -d)
trap 'kill $server 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
# Without a run's own warm programs.
PATH=$(tr : '\n' <<<"$PATH" | grep -v '/warm$' | paste -sd:)
warm=$work/warm
mkdir "$warm" "$work/real"
gcc -O1 -shared -fPIC -o "$warm/server.so" tests/warm/server.c && gcc -O1 -static -o "$warm/sh" tests/warm/client.c || exit 3
cp "$warm/sh" "$warm/other"
shell=$(realpath /bin/bash)
ln -s "$shell" "$work/real/sh"
ln -s "$shell" "$work/real/other"
LD_PRELOAD=$warm/server.so "$work/real/sh" "$warm" sh </dev/null & server=$!
is_there() { compgen -G "$warm/sh.*" >/dev/null; }
check "the warm process listens" until_true 60 is_there
export PATH=$warm:$work/real:$PATH
is_warm() { [ "$(sh -c 'echo $PPID')" = $server ]; }
check "a call is its fork" is_warm
same() { # COMMAND...: what it prints and its code are those of the program itself
    local found wanted
    wanted=$(PATH=$work/real:$PATH "$@" 2>&1; echo "code $?")
    found=$("$@" 2>&1; echo "code $?")
    [ "$found" = "$wanted" ] || { diff <(echo "$wanted") <(echo "$found") | sed 's/^/# /'; return 1; }
}
check "exit codes" same sh -c 'exit 7'
check "standard output and error" same sh -c 'echo out; echo err >&2'
check "arguments, also empty ones" same sh -c 'printf "[%s]\n" "$0" "$@"' name '' 'a b' "$(seq 2000)"
check "an end by a signal" same sh -c 'kill -9 $$'
given() { [ "$(echo text | sh -c cat)" = text ]; }
check "standard input" given
through() { [ "$(sh -c 'cat /dev/fd/57' 57< <(echo pipe))" = pipe ]; }
check "other descriptors" through
nothing_more() { same sh -c 'for n in /proc/self/fd/*; do readlink $n; done | grep -v -e proc -e pipe | sort'; }
check "and no more of them" nothing_more
check "the folder" eval '(cd /usr/lib && same sh -c pwd)'
check "the environment, and nothing of the server's" same env -i A=b PATH="$PATH" sh -c 'env | grep -v ^SHLVL | grep -v ^_= | sort'
check "limits, niceness and mask" eval '(ulimit -f 1234; ulimit -n 300; umask 027; same nice -n 3 sh -c "ulimit -a; nice; umask")'
first_line() { [ "$(sh -c 'while :; do echo y; done' | head -n 1)" = y ]; }
check "a pipe without a reader ends it" first_line
ended_by() { # SIGNAL: the code of a program that gets it
    sh -c 'trap "exit 40" TERM; trap "exit 41" INT; echo $$ >"$0"; while :; do sleep 0.05; done' "$work/pid" &
    local pid=$!
    until_true 60 [ -s "$work/pid" ]
    kill "-$1" $pid
    wait $pid
    code=$?
    ! kill -0 "$(<"$work/pid")" 2>/dev/null || until_true 60 eval "! kill -0 $(<"$work/pid")" || code=0
    rm "$work/pid"
}
ended_by TERM
check "SIGTERM comes to it, and its code back ($code)" [ $code -eq 40 ]
ended_by HUP
check "SIGHUP, too ($code)" [ $code -eq 129 ]
ended_by KILL
check "a caller that is killed kills it ($code)" [ $code -eq 137 ]
many() { [ "$(for i in $(seq 100); do sh -c 'sleep 0.2; echo $0' "$i" & done | sort -n | tail -n 1)" = 100 ]; }
check "a hundred at a time" many
check "without a warm process it is the program itself" eval '[ "$(other -c "echo \$PPID")" = $BASHPID ]'
# shellcheck disable=SC2016 # the inner shell expands it
in_namespace() { [ "$(unshare --net sh -c 'echo $PPID')" != $server ]; }
if [ "$(id -u)" = 0 ]; then check "and in other namespaces" in_namespace; fi
preloaded() { [ "$(LD_PRELOAD=$work/none sh -c 'echo $PPID' 2>/dev/null)" != $server ]; }
check "and with libraries of one's own" preloaded
kill $server
wait $server 2>/dev/null
gone() { [ "$(sh -c 'echo here')" = here ]; }
check "and when the warm process has ended" gone
exit $((failures > 0))
