#!/usr/bin/env bash
# The Containerfiles: no base by a tag, packages by images/apt-install.sh alone, nothing runs as root, the last stage has only the files that collect.sh collected,
# and agent-cuda and trainer-cuda (which need a base that few machines have) equal agent and trainer except for CUDA's
# changes; agent and trainer are compiled in the same layers, and so are agent-cuda and trainer-cuda.
cd "$(dirname "$0")/../.." || exit 3
bad=0
say() { echo "not ok $*"; bad=1; }
# What a tag names changes: a base has no default, or one by digest. build.sh gives it, and refuses tags.
pinned='(=[a-z0-9./:-]+@sha256:[0-9a-f]{64})?$'
# shellcheck disable=SC2016 # variables of the Containerfiles
for file in images/*.Containerfile; do
    stages='FROM ${BASE} AS build FROM scratch'
    [[ $file != *-cuda.Containerfile ]] || stages='FROM ${CUDA_BASE} AS cuda '$stages
    for base in $(sed -n 's/^ARG \([A-Z_]*BASE\).*/\1/p' "$file"); do
        grep -qE "^ARG $base$pinned" "$file" || say "$file: ARG $base names a base by its tag"
    done
    ! grep -nE '^RUN.*apt(-get)? ' "$file" || say "$file: packages are installed past images/apt-install.sh, which checks them"
    [ "$(grep '^FROM' "$file" | paste -sd' ')" = "$stages" ] || say "$file: the stages are not: $stages"
    [ "$(grep -cE '^ARG [A-Z_]*BASE' "$file")" = "$(grep -c '^FROM \$' "$file")" ] || say "$file: a FROM does not use an ARG, or an ARG is not used by a FROM"
    [ "$(grep '^USER' "$file")" = "USER 65532:65532" ] || say "$file: the user is not 65532"
    [ "$(grep -c '^ENTRYPOINT' "$file")" = 1 ] || say "$file: not one entry point"
done
plain() {
    sed -e '/^#/d; /^$/d; /^ARG /d; /^FROM ${CUDA_BASE}/,/cuda-libraries.sh copy/d; /g++$/d; /from=cuda[ ,]/d' -e 's, $(images/cuda-libraries.sh system),,; s,images/cuda-libraries.sh ,,' -e '/openmpi-bin$/d; s/ shim trainer$/ shim/' \
        -e '/^LABEL/,/licenses=/d; s/CUDA=[01] //; /^ENV/,/^USER/d' "$1"
}
[ "$(plain images/agent.Containerfile)" = "$(plain images/agent-cuda.Containerfile)" ] ||
    say "images/agent-cuda.Containerfile differs from agent.Containerfile in more than CUDA needs"
[ "$(plain images/trainer.Containerfile)" = "$(plain images/trainer-cuda.Containerfile)" ] ||
    say "images/trainer-cuda.Containerfile differs from trainer.Containerfile in more than CUDA needs"
compiled() { sed '/^#/d; /^RUN strip/,$d' "$1"; }
for cuda in '' -cuda; do
    [ "$(compiled images/agent$cuda.Containerfile)" = "$(compiled images/trainer$cuda.Containerfile)" ] ||
        say "images/trainer$cuda.Containerfile does not begin as agent$cuda.Containerfile does: all would be compiled twice"
done
[ $bad -eq 0 ] && echo "ok images"
exit $bad
