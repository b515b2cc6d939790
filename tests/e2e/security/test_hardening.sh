#!/usr/bin/env bash
# Whether the hardening flags of the Makefile (HARDEN, HARDEN_LINK) took effect, read from the programs and objects that were
# built: position-independent, read-only after relocation, no executable stack, checked branches, fortified calls, and each
# object compiled with the flags that leave no other trace. Instrumented builds (SANITIZE) have fewer, and are skipped.
cd "$(dirname "$0")/../../.." || exit 3
build=${BUILD:-build}
bad=0
say() { echo "not ok $*"; bad=1; }
has() { grep -qE -- "$2" <<<"$1"; }
case $build in *sanitize*) echo "skip hardening: an instrumented build"; exit 0 ;; esac

seen=0
for program in "$build"/windlass "$build"/windlass-agent "$build"/windlass-trainer "$build"/windlass-shim; do
    [ -f "$program" ] || continue
    seen=$((seen + 1))
    headers=$(readelf -hlW "$program") dynamic=$(readelf -dW "$program")
    has "$headers" 'Type: +DYN' && has "$dynamic" 'FLAGS_1.*PIE' || say "$program is not position-independent (-fPIE, -pie)"
    has "$headers" 'GNU_RELRO' || say "$program has no segment that becomes read-only (-z relro)"
    has "$dynamic" 'FLAGS.*NOW' || say "$program binds its functions late, so that their table stays writable (-z now)"
    has "$headers" 'GNU_STACK.* RW +0x' || say "$program has an executable stack (-z noexecstack)"
    has "$headers" 'LOAD.* RWE' && say "$program has a segment that is writable and executable"
    has "$(nm "$program" 2>/dev/null; nm -D "$program" 2>/dev/null)" '__[a-z]+_chk' ||
        say "$program calls no checked function (-D_FORTIFY_SOURCE)"
done
[ $seen -gt 0 ] || { echo "skip hardening: nothing is built in $build"; exit 0; }

# A checked branch needs every object; the linker drops the mark for all of them if one lacks it.
case $(uname -m) in
x86_64) mark='IBT, SHSTK' flags='-fcf-protection=full' ;;
aarch64) mark='BTI, PAC' flags='-mbranch-protection=standard' ;;
*) mark='' flags='' ;;
esac
# (Objects of sources that are gone may still be there.)
mapfile -t objects < <(git ls-files -co --exclude-standard 'lib/*.c' 'operator/*.c' 'agent/*.c' | sed "s#^#$build/obj/#;s#\$#.o#" | xargs ls 2>/dev/null)
[ ${#objects[@]} -gt 0 ] || { echo "not ok hardening: $build has no objects (of the files that git knows)"; exit 1; }
if [ -n "$mark" ]; then
    unmarked=$(readelf -nW "${objects[@]}" "$build"/obj/windlass-preload.so 2>/dev/null |
        awk -v mark="$mark" '/^File: /{if (file && !found) print file; file = $2; found = 0} index($0, mark){found = 1} END{if (file && !found) print file}')
    [ -z "$unmarked" ] || say "without $mark ($flags): $(head -3 <<<"$unmarked" | paste -sd' ')"
fi
# gcc notes its flags in each object, with the debugging information.
for flag in -fstack-clash-protection -ftrivial-auto-var-init=zero -fstack-protector-strong $flags; do
    without=$(grep -La -- "$flag" "${objects[@]}" </dev/null)
    [ -z "$without" ] || say "compiled without $flag: $(head -3 <<<"$without" | paste -sd' ')"
done
has "$(cat "$build"/obj/.flags)" '-D_FORTIFY_SOURCE=3' || say "$build was compiled without -D_FORTIFY_SOURCE=3"
[ $bad -eq 0 ] && echo "ok hardening"
exit $bad
