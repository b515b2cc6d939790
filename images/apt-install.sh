#!/usr/bin/env bash
# Installs Debian packages: apt-install.sh PACKAGE... Not root: sudo is used where it is. Exit code 3: not possible, and why.
# Another apt (the upgrades of a machine that has just started, a second script of ours) is waited for, 5 minutes: apt itself
# waits for dpkg's lock when told to, but never for that of the package lists.
set -euo pipefail
script=${0##*/}

root=
if [ "$(id -u)" -ne 0 ]; then
    root=$(command -v sudo || true)
    [ -n "$root" ] || { echo "$script: not root and no sudo. As root run: apt-get install $*" >&2; exit 3; }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() {
    # shellcheck disable=SC2086 # no word where there is no sudo
    $root env LC_ALL=C apt-get -o DPkg::Lock::Timeout=300 update -qq &&
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
