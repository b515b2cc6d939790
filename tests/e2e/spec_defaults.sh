# spec_defaults.sh: for scripts that start an agent by hand. The agent has no defaults: windlass fills them in, from
# crds/. These functions do the same, with jq.
# shellcheck shell=bash disable=SC2016 # jq's variables

# spec_schema CRD FILE: writes the schema of the definition's spec, as JSON.
spec_schema() {
    /usr/bin/python3 - "$1" >"$2" <<'P'
import json, sys, yaml
definition = yaml.load(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
schemas = [version["schema"]["openAPIV3Schema"] for version in definition["spec"]["versions"] if version.get("schema")]
print(json.dumps(schemas[0]["properties"]["spec"]))
P
}
fill_defaults='def fill($s):
    if type == "object" then
        reduce ($s.properties // {} | to_entries[]) as $p (.;
            if has($p.key) then .[$p.key] |= fill($p.value)
            elif $p.value | has("default") then .[$p.key] = ($p.value.default | fill($p.value))
            else . end)
    elif type == "array" and ($s | has("items")) then map(fill($s.items))
    else . end;'
# optimizer_table: prints the defaults by kind of operator/kinds/disttrain/optimizer_defaults.c: {"SGD": {"learningRate": "0.1", ...}, ...}
optimizer_table() {
    /usr/bin/python3 - <<'P'
import json, re
text = open("operator/kinds/disttrain/optimizer_defaults.c").read()
fields = re.findall(r'"(\w+)"', re.search(r"fields\[FIELDS\] = \{(.*?)\}", text, re.S)[1])
print(json.dumps({kind: dict(zip(fields, re.findall(r'"(.*?)"', values))) for kind, values in re.findall(r'\{"(\w+)",\s*\{(.*?)\}\}', text, re.S)}))
P
}
# fill_spec SCHEMA_FILE SPEC: prints the JSON SPEC with its defaults.
fill_spec() {
    jq -c --slurpfile s "$1" --argjson o "$(optimizer_table)" "$fill_defaults fill(\$s[0]) |
        if .trainer.optimizer then .trainer.optimizer |= (\$o[.kind] // {}) + . else . end" <<<"$2"
}
# batchscore_spec SPEC: prints a BatchScore's spec as a pod gets it (operator/kinds/batchscore/work.c). $work: a folder.
batchscore_spec() {
    [ -s "$work/batchscore.json" ] || spec_schema crds/batchscore.yaml "$work/batchscore.json" || return 1
    fill_spec "$work/batchscore.json" "$1" | jq -c '.output.mode //= "PerFile" |
        if .output.mode == "AppendRow" then .output.appendRowFileName //= "rows.txt" else . end'
}
# make_trainer FOLDER TRAINER: a program FOLDER/trainer that runs TRAINER (an absolute path) with the defaults, as in a
# pod, in its WINDLASS_SPEC.
make_trainer() {
    spec_schema crds/disttrain.yaml "$1/schema.json" || return 1
    cat >"$1/trainer" <<E
#!/usr/bin/env bash
. "$PWD/tests/e2e/spec_defaults.sh"
filled=\$(fill_spec "$1/schema.json" "\$WINDLASS_SPEC" | jq -c '.restart.hangSeconds //= 300') && WINDLASS_SPEC=\$filled
exec "$2" "\$@"
E
    chmod +x "$1/trainer"
}
