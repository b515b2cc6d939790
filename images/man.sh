#!/usr/bin/env bash
# Manual pages from the programs' own --help, as docs/cli.md is: windlass.1, and one for each command (windlass-run.1),
# which `man windlass run` finds. images/man.sh FOLDER OF THE PROGRAMS, FOLDER OF THE PAGES (share/man/man1)
set -eu
bin=$1 to=$2
version=$("$bin/windlass" --version)
# --help becomes roff: paragraphs are filled, rows of options and commands get a hanging indent, examples stay as they are.
roff() { # NAME, TITLE OF THE PAGE, ONE LINE ABOUT IT: --help on stdin
    awk -v name="$1" -v title="$2" -v about="$3" -v version="$version" '
    function plain(text) {
        gsub(/\\/, "\\e", text)
        gsub(/-/, "\\-", text)
        gsub(/'\''/, "\\(aq", text)
        return text ~ /^[.]/ ? "\\&" text : text
    }
    function section(text) { if (at != text) print ".SH " text; at = text }
    BEGIN {
        printf ".TH %s 1 \"\" \"%s\" \"User Commands\"\n.SH NAME\n%s \\- %s\n", toupper(title), plain(version), plain(title), plain(about)
    }
    /^Usage: / { section("SYNOPSIS"); print ".B " plain(substr($0, 8)); next }
    /^(Options|Commands|Examples|Start here):$/ { list = $1; section(toupper(substr($0, 1, length($0) - 1))); next }
    /^$/ { if (list == "Options:" || list == "Commands:") list = ""; gap = 1; next }
    list ~ /^(Examples|Start)/ { print ".nf\n" plain(substr($0, 3)) "\n.fi"; next }
    list != "" {
        row = $0
        sub(/^ +/, "", row)
        split_at = match(row, /  +/)
        if (/^ {20}/) { print plain(row); next }
        head = split_at ? substr(row, 1, split_at - 1) : row
        print ".TP\n.B " plain(head)
        if (split_at) {
            rest = substr(row, split_at)
            sub(/^ +/, "", rest)
            print plain(rest)
        }
        next
    }
    {
        section("DESCRIPTION")
        if (gap) print ".PP"
        gap = 0
        if (/^ /) { sub(/^ +/, ""); print ".br" }
        print plain($0)
    }
    END { if (name != "windlass") print ".SH SEE ALSO\n.BR windlass (1)" }'
}
mkdir -p "$to"
"$bin/windlass" --help | roff windlass windlass "deep-learning batch jobs on Kubernetes or on this machine" >"$to/windlass.1"
"$bin/windlass" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]\{1,\}\)  *\(.*\)/\1 \2/p' | while read -r command about; do
    "$bin/windlass" "$command" --help | roff "$command" "windlass-$command" "$about" >"$to/windlass-$command.1"
done
