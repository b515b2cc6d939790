#!/usr/bin/env bash
# The Debian packages that images are built from, each with its version and the SHA-256 of its .deb: images/packages.lock.
#   lock.sh check PACKAGE...   whether apt would install exactly those (before anything is installed)
#   lock.sh installed          whether what is installed here is among them (a base image)
#   lock.sh update             writes packages.lock from this machine's mirror: a Debian 12 machine, any state
# Exit code 1: something is not as listed; each such package is printed.
# A release checks it (LOCK=required, images/apt-install.sh). Debian's mirror keeps only the newest version of a package:
# when it has moved on, update the list, or point apt to https://snapshot.debian.org at the list's date.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
mkdir -p "$empty/partial"
: >"$empty/status"
lock=${PACKAGES_LOCK:-$here/packages.lock}
# Beside deps.sh's list: what the Containerfiles install, and the base image.
more="openmpi-bin g++ ccache"

# "SHA256  name_version_arch.deb" of all that apt would fetch, "none" where its source gives no such hash. %3a is the colon
# of an epoch. (What has been fetched before would be left out.)
wanted() { # APT-OPTION... PACKAGE...
    LC_ALL=C apt-get -o Acquire::ForceHash=sha256 -o Dir::Cache::archives="$empty" install --print-uris -y -qq --no-install-recommends "$@" |
        sed -n "s/^'[^']*' \([^ ]*\) [0-9]* SHA256:\([0-9a-f]*\)$/\2  \1/p; t; s/^'[^']*' \([^ ]*\).*$/none  \1/p" | sed 's/%3a/:/' | sort -k2
}
differing() { # FILE: its lines that are not in the lock
    local hash offered name known
    while read -r hash offered; do
        [ "$hash" != none ] || { echo "$offered: its source gives no SHA-256" && continue; }
        name=${offered%%_*}
        known=$(grep -o "  ${name}_.*" "$lock" | tr -d ' ' | paste -sd' ' || true)
        echo "$offered: packages.lock has ${known:-no such package}"
    done < <(grep -vxFf "$lock" "$1" || true)
}
verdict() { # TEXT
    [ -n "$1" ] || return 0
    echo "$1" >&2
    echo "lock.sh: these packages are not those of images/packages.lock ($(sed -n 's/^# made: //p' "$lock")); images/lock.sh update lists what the mirror has" >&2
    exit 1
}

case ${1:-} in
check)
    shift
    wanted "$@" >"$empty/list"
    verdict "$(differing "$empty/list")"
    ;;
installed)
    verdict "$(dpkg-query -W -f='${Package}_${Version}_${Architecture}.deb\n' | while read -r package; do
        grep -qF "  $package" "$lock" || echo "$package is installed, and is not listed"
    done)"
    ;;
update)
    # What mmdebstrap's variant "apt" has: Essential and apt.
    base=$(LC_ALL=C apt-cache dumpavail | awk 'BEGIN { RS = ""; FS = "\n" }
        /\nEssential: yes/ || /^Package: apt\n/ { sub("Package: ", "", $1); print $1 }' | sort -u)
    packages=$(sed -n '/^build="/,/^tests=/p' "$here/deps.sh" | grep -v '^tests=' |
        sed 's/^[a-z]*="//; s/\$build//; s/"$//' | tr -s ' \n' '\n')
    {
        echo "# What images are built from (images/lock.sh): SHA-256 and name of each .deb of Debian 12."
        echo "# made: $(date -u +%Y-%m-%d)"
        # shellcheck disable=SC2086 # lists of words
        wanted -o Dir::State::status="$empty/status" $base $packages $more
    } >"$lock.new"
    verdict "$(sed -n 's/^none  \(.*\)$/\1: its source gives no SHA-256/p' "$lock.new")"
    mv "$lock.new" "$lock"
    ;;
*)
    echo "usage: lock.sh check PACKAGE... | installed | update" >&2
    exit 2
    ;;
esac
