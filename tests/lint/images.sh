#!/usr/bin/env bash
# The Containerfiles: bases pinned, nothing runs as root, the last stage has only what collect.sh put together, and
# agent-cuda (which needs a base that few machines have) is agent's but for what CUDA changes.
cd "$(dirname "$0")/../.." || exit 3
bad=0
say() { echo "not ok $*"; bad=1; }
for file in images/*.Containerfile; do
    grep -qE '^ARG BASE=[a-z0-9./-]+:[0-9]+\.[0-9]+[a-z0-9.-]*(@sha256:[0-9a-f]{64})?$' "$file" ||
        say "$file: ARG BASE names no version or digest"
    [ "$(grep '^FROM' "$file" | tail -1)" = "FROM scratch" ] || say "$file: the last stage does not start from scratch"
    # shellcheck disable=SC2016 # the Containerfile's own variable
    [ "$(grep '^FROM' "$file" | head -1)" = 'FROM ${BASE} AS build' ] || say "$file: the first stage is not built in BASE"
    [ "$(grep '^USER' "$file")" = "USER 65532:65532" ] || say "$file: the user is not 65532"
    [ "$(grep -cE '^(FROM|USER|ENTRYPOINT)' "$file")" = 4 ] || say "$file: not two stages, one user, one entry point"
done
plain() { sed -e '/^#/d; /^$/d; /^ARG BASE=/d; /^LABEL/,/licenses=/d; s/CUDA=[01] //; /^ENV/,/^USER/d' "$1"; }
[ "$(plain images/agent.Containerfile)" = "$(plain images/agent-cuda.Containerfile)" ] ||
    say "images/agent-cuda.Containerfile differs from agent.Containerfile in more than CUDA needs"
[ $bad -eq 0 ] && echo "ok images"
exit $bad
