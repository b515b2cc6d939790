"""Unused: every function with external linkage is used in another file or at least in its own, and not by tests alone
unless its own file uses it as well (then it is external for its test) or it is listed with a reason. Functions for AUTO
(x_freep, x_closep) come with their type. Limits, too: a constant of an enum without a name, and a macro, that no code names; in
that case nothing keeps to it. (Values of an enum that has a name may be there for completeness.)"""
import re

import source

FILES = source.load(source.CODE + ("tests/",))
FILES_INCLUDED = {p: source.blank(open(p, encoding="utf-8").read()) for p in source.files(source.INCLUDED)}
found = {}
users = {}
for path, file in FILES.items():
    for word in set(re.findall(r"\b[A-Za-z_]\w*\b", file.code)):
        users.setdefault(word, set()).add(path)
for path, file in FILES.items():
    if not path.startswith(source.CODE) or path.endswith(".h"):
        continue
    for function in file.functions:
        name = function.name
        if function.is_static or name == "main" or name.endswith(("_freep", "_closep")):
            continue
        others = {u for u in users[name] - {path} if not (u.endswith(".h") and name in FILES[u].declared)}
        own = len(re.findall(rf"\b{name}\b", file.code)) - 1
        where = f"{path}:{function.line}: {name}"
        if not others and not own:
            found[f"unused {name}"] = f"{where} is not used"
        elif others and not own and all(u.startswith("tests/") for u in others):
            found[f"tests only {name}"] = f"{where} is used by tests alone"
uses = {}
for file in FILES.values():
    for word in re.findall(r"\b[A-Za-z_]\w*\b", file.code):
        uses[word] = uses.get(word, 0) + 1
for path, file in FILES.items():
    if not path.startswith(source.CODE):
        continue
    limits = [name for body in re.findall(r"\benum\s*\{([^}]*)\}", file.code) for name in re.findall(r"\b(\w+)\s*=", body)]
    for name in limits + re.findall(r"^#define (\w+)", file.code, re.M):
        if uses[name] == 1 and not any(name in FILES_INCLUDED[i] for i in FILES_INCLUDED):
            found[f"constant {name}"] = f"{path}: {name} is not used"
source.finish("unused", found)
