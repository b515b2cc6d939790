# spec_defaults.sh: for scripts that start an agent by hand. The agent has no defaults: windlass fills them in, from
# crds/. These functions do the same (fill_spec.py).
# shellcheck shell=bash

# spec_schema CRD FILE: writes the schema of the definition's spec, as JSON; also optimizers, the defaults by kind of
# operator/kinds/disttrain/optimizer_defaults.c: {"SGD": {"learningRate": "0.1", ...}, ...}
spec_schema() {
    /usr/bin/python3 - "$1" >"$2" <<'P'
import json, re, sys, yaml
definition = yaml.load(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
schemas = [version["schema"]["openAPIV3Schema"] for version in definition["spec"]["versions"] if version.get("schema")]
text = open("operator/kinds/disttrain/optimizer_defaults.c").read()
fields = re.findall(r'"(\w+)"', re.search(r"fields\[FIELDS\] = \{(.*?)\}", text, re.S)[1])
optimizers = {kind: dict(zip(fields, re.findall(r'"(.*?)"', values))) for kind, values in re.findall(r'\{"(\w+)",\s*\{(.*?)\}\}', text, re.S)}
print(json.dumps(schemas[0]["properties"]["spec"] | {"optimizers": optimizers}))
P
}
# fill_spec SCHEMA_FILE SPEC [KIND]: prints the JSON SPEC with its defaults; as a pod of that kind gets it.
fill_spec() { /usr/bin/python3 -IS tests/e2e/fill_spec.py "$1" "${@:3}" <<<"$2"; }
# batchscore_spec SPEC: prints a BatchScore's spec as a pod gets it (operator/kinds/batchscore/work.c). $work: a folder.
batchscore_spec() {
    [ -s "$work/batchscore.json" ] || spec_schema crds/batchscore.yaml "$work/batchscore.json" || return 1
    fill_spec "$work/batchscore.json" "$1" batchscore
}
# make_trainer FOLDER TRAINER: a program FOLDER/trainer that runs TRAINER (an absolute path) with the defaults, as in a
# pod, in its WINDLASS_SPEC. (Ranks, and often trainings, have the same: the last one is kept, with what was made of it.)
make_trainer() {
    spec_schema crds/disttrain.yaml "$1/schema.json" && rest_library "$1" || return 1
    cat >"$1/trainer" <<E
#!/usr/bin/env bash
{ IFS= read -rd '' last && IFS= read -rd '' filled; } 2>/dev/null <"$1/filled"
if [ "\$last" != "\$WINDLASS_SPEC" ]; then
    filled=\$(/usr/bin/python3 -IS "$PWD/tests/e2e/fill_spec.py" "$1/schema.json" disttrain <<<"\$WINDLASS_SPEC") || filled=\$WINDLASS_SPEC
    printf '%s\0' "\$WINDLASS_SPEC" "\$filled" >"$1/filled.\$\$" && mv "$1/filled.\$\$" "$1/filled"
fi
WINDLASS_SPEC=\$filled
LD_PRELOAD=$1/rest.so exec "$2" "\$@"
E
    chmod +x "$1/trainer"
}
