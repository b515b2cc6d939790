"""README.md of each folder of lib/, operator/ and agent/: the part below the line MADE is made from the headers and from
includes.sh, so that every module is named, and the rule that says what a folder may include. The text above is by hand; if it names
every module in `backticks`, the list is left out. A .c without a header has its first comment; one without either is a finding of
folders.sh, which also compares. `make readmes` writes."""
import os
import re
import sys
import textwrap

import source

MADE = "<!-- Below: made by `make readmes` from the headers and tests/lint/includes.sh. -->"
COLUMNS = 98
HEAD = re.compile(r"\s*(?:// SPDX[^\n]*\n\s*)?(?:/\*\s*(.*?)\*/|((?://(?! SPDX)[^\n]*\n)+))", re.S)


def first_sentence(path):
    """Of the comment at the head of the file, without the file's name; "" if it has none."""
    found = HEAD.match(open(path, encoding="utf-8").read())
    if not found:
        return ""
    text = re.sub(r"\n[ \t]*\*[ \t]?", "\n", found.group(1) or re.sub(r"^//", "", found.group(2), flags=re.M))
    text = re.split(r"\n\s*\n", text)[0]
    text = " ".join(text.split())
    text = re.sub(r"^[\w.]+\.(?:h|c|cu): ", "", text)
    return re.split(r"(?<=[^.][^.][.?!])\s+(?=[A-Z`(\x22])", text)[0].rstrip(" .:")


def shortened(text, room):
    """A sentence that is too long for its line: without its remarks in brackets and what follows a colon, if that helps."""
    plain = re.sub(r" \([^()]*\)", "", text)
    if len(plain) <= room:
        return plain
    before = re.split(r"[:;] ", plain)[0]
    return before if len(before) <= room and before.count(" ") >= 3 else text


def modules(folder, names):
    """Lines "`name.h`: what it is" of the files of one folder; a .c belongs to the header of its name."""
    made = []
    headers = {n[:-2] for n in names if n.endswith(".h")}
    for name in sorted(names):
        path = f"{folder}/{name}"
        if not name.endswith(".h") and name.rsplit(".", 1)[0] in headers:
            continue
        said = first_sentence(path)
        is_name = re.match(r"[A-Z][a-z]*[A-Z]|\w+,? (?:and )?[A-Z][a-z]", said or "")  # GroupQueryAttention; If, Loop; Gemm and MatMul
        if said and not name.endswith(".h") and not is_name and (said[1:2].islower() or said[1:2] == " ") and "'s " not in said[:12]:
            said = said[0].lower() + said[1:]
        start = f"`{name}`: "
        if len(start + said) > COLUMNS - 2:
            said = shortened(said, COLUMNS - 2 - len(start))
        made.append(
            textwrap.fill(
                f"`{name}`" + (f": {said}" if said else ""),
                COLUMNS,
                initial_indent="- ",
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return made


def rules():
    """Of includes.sh: folder -> what its files may include."""
    text = open("tests/lint/includes.sh", encoding="utf-8").read()
    table = re.search(r"^allow='\n(.*?)^'", text, re.S | re.M).group(1)
    return {line.split()[0]: line.split()[1:] for line in table.splitlines()}


def may_include(folder, allowed):
    best = max((f for f in allowed if (folder + "/").startswith(f + "/")), key=len, default=None)
    if not best:
        return ""
    if not [p for p in allowed[best] if p.rstrip("/") != folder]:
        return "May include, besides itself: nothing of ours."
    script = os.path.relpath("tests/lint/includes.sh", folder)
    text = f"What it may include: `{best}` in [includes.sh]({script})."
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def names_all(text, names):
    """Whether the text by hand names every module; `rules*.c` and `path_*` name several."""
    named = {re.sub(r"\.(?:c|h|cu)$", "", n.split("/")[-1]) for n in re.findall(r"`([^`\s]+)`", text)}
    patterns = [re.compile(re.escape(n).replace(r"\*", ".*")) for n in named]
    return all(any(p.fullmatch(n.rsplit(".", 1)[0]) for p in patterns) for n in names)


def page(folder, names, allowed):
    text = open(f"{folder}/README.md", encoding="utf-8").read().split(MADE)[0].rstrip("\n")
    made = [] if names_all(text, names) else modules(folder, names)
    parts = [text, MADE] + (["\n".join(made)] if made else [])
    rule = may_include(folder, allowed)
    return "\n\n".join(parts + ([rule] if rule else [])) + "\n"


def pages():
    """path of a README.md -> what it should hold."""
    inside, allowed = {}, rules()
    for path in source.files():
        inside.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    return {f"{folder}/README.md": page(folder, sorted(names), allowed) for folder, names in inside.items() if os.path.exists(f"{folder}/README.md")}


if __name__ == "__main__":
    for path, text in pages().items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    sys.exit(0)
