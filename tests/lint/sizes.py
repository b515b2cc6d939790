"""Sizes: a source has at most 600 lines, a header (of CUDA, too) 150, a line 100 columns; a function at most 70 lines, six parameters
and three levels of control statements, one in the other (else if is the if's level). Files that sources include (.inc, .cuh): lines
and columns alone below lib/, operator/ and agent/, for their inlined loops take registers; none for tables below tests/. Programs in
Python and Bash: lines alone."""
import os
import re

import source

FOLDERS = source.CODE + ("tests/",)
found = {}


def depth_of(body):
    """Levels of control statements: of the braces opened by if, else, for, while, do, switch or a macro that loops."""
    deepest, levels = 0, []
    words = re.finditer(r"[{}]", body)
    for word in words:
        if word.group() == "}":
            if levels:
                levels.pop()
            continue
        before = body[: word.start()].rstrip()
        is_control = before.endswith(")") and not re.search(r"=\s*\([^()]*\)$|\(struct [^()]*\)$", before[-200:])
        is_control = is_control or re.search(r"\b(?:else|do)$", before)
        levels.append(bool(is_control))
        deepest = max(deepest, sum(levels))
    return deepest


for path, file in {**source.load(FOLDERS), **source.load(suffixes=source.INCLUDED)}.items():
    lines = file.text.count("\n")
    most = 150 if path.endswith((".h", ".cuh")) else 600
    name, base = "/".join(path.split("/")[-2:]), os.path.basename(path)
    if lines > most:
        found[f"lines {name}"] = f"{path} has {lines} lines, at most {most}"
    for number, line in enumerate(file.text.split("\n"), 1):
        if len(line) > 100:
            found[f"columns {name}:{number}"] = f"{path}:{number} has {len(line)} columns, at most 100"
    for f in [] if path.endswith(source.INCLUDED) else file.functions:
        length = f.end - f.body_line
        if length > 70:
            found[f"length {base}:{f.name}"] = f"{path}:{f.line}: {f.name} has {length} lines, at most 70"
        if f.parameters > 6:
            found[f"parameters {base}:{f.name}"] = f"{path}:{f.line}: {f.name} has {f.parameters} parameters, at most 6"
        depth = depth_of(f.body)
        if depth > 3:
            found[f"nesting {base}:{f.name}"] = f"{path}:{f.line}: {f.name} nests {depth} levels, at most 3"
for path in source.files((".py", ".sh"), ("",)):
    with open(path, encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    if lines > 600:
        found[f"lines {'/'.join(path.split('/')[-2:])}"] = f"{path} has {lines} lines, at most 600"
source.finish("sizes", found)
