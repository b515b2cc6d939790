#!/bin/sh
# collect.sh ROOT FILE...: fills ROOT with what these programs need at run time and nothing else: the programs in
# /usr/local/bin, the libraries that they load (libraries.sh), certificate authorities, a user, and the copyright and record of
# every Debian package that a file came from (scanners read /var/lib/dpkg/status.d). A FILE is a program; an archive (.a)
# that a static program was linked with, of which only the package is recorded; a library by its name (librt.so.1), for what
# comes into the image later; or a file or folder that the programs read or load (/usr/share/zoneinfo), which is copied to
# the same path.
set -eu
root=$1
shift
umask 022
mkdir -p "$root/etc/ssl/certs" "$root/usr/local/bin" "$root/usr/share/doc" "$root/var/lib/dpkg/status.d" "$root/tmp"
chmod 1777 "$root/tmp"
# Debian's merged /usr: /lib/x is /usr/lib/x.
for folder in bin lib lib64 sbin; do
    [ ! -L "/$folder" ] || { mkdir -p "$root/usr/$folder" && ln -s "usr/$folder" "$root/$folder"; }
done

files=/etc/ssl/certs/ca-certificates.crt
packages=ca-certificates
copied=
for program in "$@"; do
    case $program in
    *.a)
        files="$files $program"
        continue
        ;;
    lib*.so.*)
        libraries=$("$(dirname "$0")/libraries.sh" "$program")
        files="$files $libraries"
        continue
        ;;
    /*)
        mkdir -p "$root$(dirname "$program")"
        cp -a "$program" "$root$program"
        copied="$copied $program"
        continue
        ;;
    esac
    install -m 755 "$program" "$root/usr/local/bin/"
    libraries=$("$(dirname "$0")/libraries.sh" "$program")
    files="$files $libraries"
done
if [ -n "$copied" ]; then
    packages="$packages $(dpkg-query -S $copied | cut -d: -f1 | cut -d, -f1 | sort -u)"
    # Programs and plugins among them bring their libraries.
    files="$files $(find $copied -type f \( -name '*.so' -o -perm -u+x \) -exec ldd {} + 2>/dev/null |
        awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*\/ld-/ { print $1 }' | sort -u)"
fi
names=
for file in $(printf '%s\n' $files | sort -u); do
    case $file in
    *.a) ;;
    *)
        mkdir -p "$root$(dirname "$file")"
        cp -L --preserve=mode,timestamps "$file" "$root$file"
        ;;
    esac
    # dpkg knows a file by the path in its package: with or without /usr.
    real=$(realpath "$file")
    names="$names $file $real ${file#/usr} ${real#/usr}"
done
packages=$(printf '%s\n' $packages $(dpkg-query -S $names 2>/dev/null | cut -d: -f1 | cut -d, -f1) | sort -u)
dpkg-query -s $packages | awk -v folder="$root/var/lib/dpkg/status.d/" 'BEGIN { RS = "" } { print >(folder $2); close(folder $2) }'
for package in $packages; do
    mkdir -p "$root/usr/share/doc/$package"
    cp -L "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/"
done
cp -L /etc/os-release "$root/etc/os-release"
echo 'root:x:0:0:root:/:/sbin/nologin
windlass:x:65532:65532:windlass:/tmp:/sbin/nologin' >"$root/etc/passwd"
echo 'root:x:0:
windlass:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
# The same files give the same image.
find "$root" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
