"""Prints the JSON spec on stdin with its defaults, for spec_defaults.sh: fill_spec.py SCHEMA [KIND]. SCHEMA: what spec_schema
wrote. KIND: batchscore or disttrain, of which a pod gets more than the schema's defaults."""
import json
import sys


def fill(value, schema):
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if name in value or "default" in part:
                value[name] = fill(value[name] if name in value else part["default"], part)
    elif isinstance(value, list) and "items" in schema:
        value = [fill(one, schema["items"]) for one in value]
    return value


def for_pod(spec, kind):
    """As operator/kinds/KIND/ makes it."""
    if kind == "disttrain":
        restart = spec.setdefault("restart", {})
        restart["hangSeconds"] = restart.get("hangSeconds") or 300
    if kind == "batchscore":
        output = spec.setdefault("output", {})
        output["mode"] = output.get("mode") or "PerFile"
        if output["mode"] == "AppendRow":
            output["appendRowFileName"] = output.get("appendRowFileName") or "rows.txt"
    return spec


with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
try:
    spec = fill(json.loads(sys.stdin.buffer.read()), schema)
except ValueError as error:
    print(f"fill_spec.py: {error}", file=sys.stderr)
    sys.exit()
trainer = spec.get("trainer") or {}
if trainer.get("optimizer"):
    trainer["optimizer"] = schema["optimizers"].get(trainer["optimizer"].get("kind"), {}) | trainer["optimizer"]
sys.stdout.reconfigure(encoding="utf-8")
json.dump(for_pod(spec, (sys.argv + [""])[2]), sys.stdout, ensure_ascii=False, separators=(",", ":"))
