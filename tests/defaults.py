"""defaults.py: the schema is the only source of defaults (docs/decisions/schema-defaults.md). Two checks; api.sh runs them.

- agent/, operator/kinds/: a field with a default in crds/ is read without a value for a missing one, because every pod's
  spec has it, and so has every manifest and every object that the controller has read.
- agent/job.c: filled_fields, without which a pod of a BatchScore does not start, are exactly the schema's defaults
  that such a pod gets."""
import json
import re
import subprocess
import sys

import yaml

READ = re.compile(r'\b(tree_text|tree_integer|tree_bool|job_bounded)\(\s*([\w>.()-]+),\s*((?:FIELD )?"[\w.]+"),\s*("[^"]*"|-?\w+)\s*[,)]')
DEFINED = re.compile(r'#define FIELD "([\w.]+)"')
NEUTRAL = ('""', '"?"', "NULL", "-1", "0", "false")  # "absent"
PARTS = ("input", "scorer", "retry")  # of a BatchScore's spec: the objects that pods get (operator/kinds/batchscore/work.c)


def defaults():
    """The dotted path below spec of each field with a default that is a value -> the set of defaults; and the full
    paths of a BatchScore's fields with defaults."""
    found, full = {}, set()

    def walk(schema, path, paths):
        value = schema.get("default")
        if value is not None and len(path) > 1:
            paths.add(".".join(path[1:]))
        if value is not None and not isinstance(value, (dict, list)):
            for start in range(1, max(2, len(path) - 1)):  # also by the last parts, for readers of a part of the spec
                found.setdefault(".".join(path[start:]), set()).add(json.dumps(value))
        for name, part in schema.get("properties", {}).items():
            walk(part, path + [name], paths)
        if "items" in schema:
            walk(schema["items"], path, set())

    for name in ("batchscore", "disttrain", "sweep"):
        definition = yaml.load(open(f"crds/{name}.yaml", encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        version = next(v for v in definition["spec"]["versions"] if v.get("schema"))
        walk(version["schema"]["openAPIV3Schema"]["properties"]["spec"], ["spec"], full if name == "batchscore" else set())
    return found, full


def filled_fields(full):
    """Compares the list in agent/job.c with the schema."""
    text = open("agent/job.c", encoding="utf-8").read()
    listed = set(re.findall(r'"([\w.]+)"', text.split("filled_fields[] = {")[1].split("};")[0]))
    wanted = {path for path in full if "." in path and path.split(".")[0] in PARTS}
    for path in sorted(listed ^ wanted):
        print(f"not ok agent/job.c: filled_fields {'has no' if path in wanted else 'has'} {path}, "
              f"which has {'a' if path in wanted else 'no'} default in crds/batchscore.yaml")
    return bool(listed ^ wanted)


def main():
    known, full = defaults()
    by_name = {}
    for path, values in known.items():
        by_name.setdefault(path.split(".")[-1], set()).update(values)
    bad = filled_fields(full)
    listed = subprocess.run(["git", "ls-files", "agent/*.c", "operator/kinds/*.c"], capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        text = open(path, encoding="utf-8").read()
        prefix = DEFINED.search(text)
        for found in READ.finditer(text):
            _, _, field, missing = found.groups()
            field = field.replace("FIELD ", "").strip('"')
            field = (prefix.group(1) if prefix and "FIELD" in found.group(3) else "") + field
            line = text.count("\n", 0, found.start()) + 1
            # Names repeat: the last part alone counts only where the value is a default of that name.
            is_alike = path.startswith("operator/") and missing in by_name.get(field.split(".")[-1], ())
            if missing in NEUTRAL or not (field in known or is_alike):
                continue
            print(f"not ok {path}:{line}: {field} has a default in crds/, so the spec has it: read it with \"\", -1, 0 or false")
            bad = True
    if not bad:
        print("ok defaults: none in agent/ and operator/kinds/")
    return bad


if __name__ == "__main__":
    sys.exit(main())
