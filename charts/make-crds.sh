#!/usr/bin/env bash
# Generates the chart's CRD templates from crds/*.yaml, the only source:
#   make-crds.sh FOLDER     writes FOLDER/crd-NAME.yaml for each
# The second version of a CRD, which has the first one's parts as aliases (*schema), is written in full: not every tool that
# reads a chart knows them. Added are the chart's labels, the annotation that keeps the CRD when the release is uninstalled, and
# a condition around the CEL rules, which servers before 1.29 do not support. `make chart` calls this.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?the folder for the templates}
# Replaces KEY: *NAME by the lines of KEY: &NAME.
in_full() {
    awk '
    function indent_of(line) { match(line, /^ */); return RLENGTH }
    indent_of($0) <= depth && !/^ *$/ { name = "" }
    name != "" { part[name] = part[name] $0 "\n" }
    / &[a-z]+$/ {
        depth = indent_of($0)
        match($0, / &[a-z]+$/)
        name = substr($0, RSTART + 2)
        $0 = substr($0, 1, RSTART - 1)
    }
    match($0, / [*][a-z]+$/) {
        printf "%s\n%s", substr($0, 1, RSTART - 1), part[substr($0, RSTART + 2)]
        next
    }
    { print }' "$1"
}
for source in crds/*.yaml; do
    in_full "$source" | awk -v source="$source" '
    function indent_of(line) { match(line, /^ */); return RLENGTH }
    # A condition ends before the first line outside its block; the list items of a key may have the
    # same indentation as the key.
    function close_rules(line,    depth) {
        depth = indent_of(line)
        if (rules < 0 || line == "" || depth > rules || (depth == rules && line ~ /^ *- /)) return
        print "{{- end }}"
        rules = -1
    }
    BEGIN {
        rules = -1
        print "{{- /* Made of " source " by `make chart`: change it there. */ -}}"
        print "{{- if .Values.crds.install }}"
    }
    /^apiVersion:/ { body = 1 }
    !body { next }
    {
        line = $0
        gsub(/[{][{]/, "{{ \"{{\" }}", line)
        close_rules(line)
    }
    rules < 0 && line ~ /^ *x-kubernetes-validations:/ {
        print "{{- if include \"windlass.rules\" . }}"
        rules = indent_of(line)
    }
    line ~ /- x-kubernetes-validations:/ {
        print source ":" NR ": x-kubernetes-validations may not be the first key of a list item" >"/dev/stderr"
        failed = 1
        exit
    }
    { print line }
    line ~ /^  name: / && !named {
        named = 1
        print "  labels:"
        print "    {{- include \"windlass.labels\" . | nindent 4 }}"
        print "  {{- if .Values.crds.keep }}"
        print "  annotations:"
        print "    helm.sh/resource-policy: keep"
        print "  {{- end }}"
    }
    END {
        if (failed) exit 1
        if (rules >= 0) print "{{- end }}"
        print "{{- end }}"
    }' >"$folder/crd-$(basename "$source")"
done
