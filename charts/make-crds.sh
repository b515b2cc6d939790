#!/usr/bin/env bash
# Makes the chart's CRD templates of crds/*.yaml, which stay the one source:
#   make-crds.sh FOLDER     writes FOLDER/crd-NAME.yaml for each
# What is added: the chart's labels, the annotation that keeps the CRD when the release goes, and a
# condition around the CEL rules, which a server before 1.29 does not know (`make chart` calls this).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?the folder for the templates}
for source in crds/*.yaml; do
    awk -v source="$source" '
    function indent_of(line) { match(line, /^ */); return RLENGTH }
    # A condition ends before the first line that is no part of its block: the list items of a key may
    # stand as deep as the key itself.
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
    }' "$source" >"$folder/crd-$(basename "$source")"
done
