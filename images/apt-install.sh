#!/usr/bin/env bash
# Installs Debian packages: apt-install.sh PACKAGE... Uses sudo, if there is one, when not run by root. Exit code 3: not
# possible; the reason is printed. Waits 5 minutes for another apt (upgrades of a new machine, a second script of ours): apt
# itself can wait for dpkg's lock, but not for that of the package lists. LOCK=required: only what images/packages.lock
# lists is installed (images/lock.sh).
set -euo pipefail
script=${0##*/}

root=
if [ "$(id -u)" -ne 0 ]; then
    root=$(command -v sudo || true)
    [ -n "$root" ] || { echo "$script: not root and no sudo. As root run: apt-get install $*" >&2; exit 3; }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

is_listed() { [ "${LOCK:-}" != required ] || "${0%/*}/lock.sh" check "$@"; }
install() {
    # shellcheck disable=SC2086 # not a word if there is no sudo
    $root env LC_ALL=C apt-get -o DPkg::Lock::Timeout=300 update -qq && is_listed "$@" &&
        $root env LC_ALL=C DEBIAN_FRONTEND=noninteractive \
            apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$@"
}

until install "$@" >"$log" 2>&1; do
    if [ "$SECONDS" -lt 300 ] && grep -qE '^E: (Could not get lock|Unable to (lock|acquire))' "$log"; then
        sleep 1
        continue
    fi
    tail -20 "$log" >&2
    echo "$script: apt-get could not install: $*" >&2
    exit 3
done
