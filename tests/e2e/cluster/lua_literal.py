"""JSON as a literal of Lua, for health checks of Argo CD: lua_literal.py <JSON >LUA, or imported."""
import json
import sys


def literal(value):
    if isinstance(value, dict):
        return "{" + ", ".join("[%s] = %s" % (json.dumps(k), literal(v)) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(literal, value)) + "}"
    return json.dumps(value)


if __name__ == "__main__":
    print("return " + literal(json.load(sys.stdin)))
