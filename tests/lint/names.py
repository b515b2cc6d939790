"""Names of lib/, operator/ and agent/ that more than one module can see.

Public: functions with external linkage or inline in a header; enums, structs, unions and enum constants that a header
defines, and structs that a header names and a source of the same stem defines.
  1. No two modules (folder and stem) share a public name. Only programs that are never linked together may
     (operator/main.c, agent/main.c, agent/shim/, agent/trainer/). A name is of one thing: a function, a type or a constant, also
     within a module.
  2. A public function begins with the noun of its module or of the header that declares it, with the noun of that
     one's family (in lib/net/http_call.c: http_call, call, and http because http.c or another http_*.c is beside it),
     or with the name of a folder above it (cuda_ or device_ in agent/engine/device/cuda). Singular and plural are one.
     Kernels of CUDA (__global__) are their file's own. Where a folder has one function per operator, the operator is
     named and the folder's role is the rest (ROLES). Included files (.inc, .cuh) have only static functions.
  3. Such a prefix belongs to one family (of one folder) or to one folder."""
import os
import re

import source

FILES = source.load()
APART = ("operator/main.c", "agent/main.c", "agent/shim/", "agent/trainer/")
ROLES = {  # by the folder's name; names that begin with _ are endings
    "ops": ("infer_",),
    "cpu": ("reference_",),
    "infer": ("infer_", "_params"),
    "ml": ("infer_",),
    "training": ("gradient_", "reference_"),
    "rewrite": ("expand_",),
    "reference": ("reference_",),
    "cuda": ("_prepare",),
    "steps": ("_prepare",),
    "kernels": ("kernels_",),
    "commands": ("_command",),
    "onednn": ("request_",),
}
ROOTS = {"lib", "operator", "agent"}
found = {}


def module_of(path):
    return os.path.splitext(path)[0]


MODULES = {module_of(path) for path in FILES}
FAMILIES = {}  # folder/noun: the modules of the folder that begin with it
for each in MODULES:
    above, parts = os.path.dirname(each), os.path.basename(each).split("_")
    for length in range(1, len(parts) + 1):
        FAMILIES.setdefault(f"{above}/{'_'.join(parts[:length])}", set()).add(each)
DECLARED = {}  # function: the modules whose headers declare it
for each in FILES.values():
    for declared in each.declared if each.path.endswith(".h") else ():
        DECLARED.setdefault(declared, set()).add(module_of(each.path))


def singular(noun):
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch")):
        if noun.endswith(ending):
            return noun[: -len(ending)] + instead
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def normal(name):
    """Each word's singular, so that kinds_find and kind_find count as one prefix."""
    return "_".join(singular(word) for word in name.split("_"))


def public_names():
    """{(what, name): {module: path:line}}"""
    names = {}

    def add(what, name, file, line):
        names.setdefault((what, name), {})[module_of(file.path)] = f"{file.path}:{line}"

    for file in FILES.values():
        is_header = file.path.endswith(".h")
        twin = FILES.get(module_of(file.path) + ".h")
        for function in file.functions:
            if is_header or not function.is_static:
                add("function", function.name, file, function.line)
        for (kind, name), line in file.types.items():
            if is_header or twin and name in twin.opaque:
                add("type", name, file, line)
        for name, line in file.constants.items() if is_header else ():
            add("constant", name, file, line)
    return names


def has_role(module, name):
    roles = ROLES.get(os.path.basename(os.path.dirname(module)), ())
    return any(name.endswith(role) if role[0] == "_" else name.startswith(role) for role in roles)


def prefixes(module):
    """{normal prefix: its owner}, all that a module's functions may begin with."""
    folder, stem = os.path.split(module)
    allowed = {}
    words = stem.split("_")
    for count in range(len(words), 0, -1):
        family = "_".join(words[:count])
        name = f"{folder}/{family}"
        if count == len(words) or name in MODULES or len(FAMILIES[name]) > 1:
            allowed.setdefault(normal(family), name)
    for first in range(1, len(words)):
        allowed.setdefault(normal("_".join(words[first:])), module)
    parts = folder.split("/")
    for at in range(len(parts) - 1, -1, -1):
        if parts[at] not in ROOTS:
            allowed.setdefault(normal(parts[at]), "/".join(parts[: at + 1]) + "/")
    return allowed


names = public_names()
for (what, name), places in sorted(names.items()):
    together = {module: place for module, place in places.items() if not place.startswith(APART)}
    if len(together) > 1:
        found[f"shared {what} {name}"] = f"{what} {name} is in {', '.join(sorted(together.values()))}"
things = {}
for (what, name), places in names.items():
    things.setdefault(name, {})[what] = sorted(places.values())[0]
for name, places in sorted(things.items()):
    if len(places) > 1:
        found[f"two {name}"] = f"{name} is {' and '.join(f'a {what} in {place}' for what, place in sorted(places.items()))}"
# The longest matching prefix decides which module owns the function.
owners = {}
for (what, name), places in sorted(names.items()):
    for module, place in places.items():
        if what != "function" or name == "main":
            continue
        allowed = prefixes(module)
        for header in DECLARED.get(name, ()):
            allowed = {**prefixes(header), **allowed}
        if has_role(module, name):
            continue
        fits = [prefix for prefix in allowed if (normal(name) + "_").startswith(prefix + "_")]
        if fits:
            owners.setdefault(max(fits, key=len), {}).setdefault(allowed[max(fits, key=len)], place)
        else:
            some = ", ".join(sorted(allowed, key=lambda p: (len(p), p)))
            found[f"prefix {os.path.basename(module)} {name}"] = f"{place}: {name} begins with none of: {some}"


def root(owner):
    """The first noun of a family: gang for gang_round where gang.c, or another gang_*.c, is beside it."""
    folder, stem = os.path.split(owner)
    first = [stem.rsplit("_", n)[0] for n in range(stem.count("_"), 0, -1)]
    return next((f"{folder}/{s}" for s in first if len(FAMILIES.get(f"{folder}/{s}", ())) > 1), owner)


for prefix, by in sorted(owners.items()):
    apart = {root(owner) for owner in by if not by[owner].startswith(APART)}
    # A folder's prefix belongs to all within it: batchscore/ and batchscore/batchscore.c are one.
    folders = {owner for owner in apart if owner.endswith("/")}
    apart -= {owner for owner in apart if any(owner.startswith(folder) and owner != folder for folder in folders)}
    # A library's public header is in the folder above its source: agent/engine/session.h, run/session.c.
    apart -= {
        o for o in apart for h in apart if o != h and os.path.basename(o) == os.path.basename(h) and o.startswith(os.path.dirname(h) + "/")
    }
    if len({(os.path.dirname(owner), normal(os.path.basename(owner))) for owner in apart}) > 1:
        found[f"owners {prefix}"] = f"prefix {prefix}_ belongs to several modules: {', '.join(sorted(apart))}"
source.finish("names", found)
