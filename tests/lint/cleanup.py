"""Cleanup: a variable of AUTO is released however its scope is left, so it needs a value before the first thing that may
leave it. A structure without one is declared right before the statement that begins with the call that fills it:
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, BYTES_MAX);        or        if (commit_open(&commit, path, err) < 0) {
Only other declarations and such calls, of which none can return, may be in between."""
import re

import source

DECLARED = re.compile(r"^ +AUTO\(\w+\)\s+(?:struct )?\w+ (\**)(\w+);", re.M)
DECLARATION = re.compile(r"^(?:AUTO\(\w+\)\s*)?(?:static |const |struct |unsigned )*\w+\s[\s*]*\w+(?:\[[^;=]*\])?(?:\s*=[^;]*|,[^;()]*)?;$", re.S)
FILLED = r"^(?:return |if \((?:!|\()*|int \w+ = |bool \w+ = )?\w+\((?:[^()]*[ ,])?&%s\b"


def without_braces(text):
    """Initial values in braces become 0."""
    out, depth = [], 0
    for at, letter in enumerate(text):
        if letter == "{" and (depth or re.search(r"= ?$|\(struct \w+\)$", text[max(0, at - 60) : at])):
            depth += 1
        if not depth:
            out.append(letter)
        elif letter == "}":
            depth -= 1
            out.append("" if depth else "0")
    return "".join(out)


def finding(body, start, name):
    """The statement in between that may leave the scope or does not begin with the call; None: all is well."""
    for statement in re.findall(r"[^;{}]*[;{}]", without_braces(body[start : start + 4000])):
        text = " ".join(statement.split())
        if re.search(rf"\b{name}\b", text):
            return None if re.search(FILLED % name, text) else text
        if not DECLARATION.match(text) and not re.match(r"^\w+_init\(", text):
            return text
    return "the end"


found = {}
for path, file in source.load(source.CODE).items():
    for match in DECLARED.finditer(file.code):
        where = file.code.count("\n", 0, match.start()) + 1
        wrong = finding(file.code, match.end(), match.group(2))
        if match.group(1) or wrong:
            found[f"{path}: {match.group(2)}"] = (
                f"{path}:{where}: AUTO variable {match.group(2)} has no value at: {wrong}"
            )
source.finish("cleanup", found)
