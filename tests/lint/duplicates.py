"""Duplicates: no seven or more lines of lib/, operator/ and agent/ are the same in two places, white space, comments,
includes and empty lines left out. Tables of literals count as well. (Containerfiles of an agent and its trainer begin
alike, so that their layers are shared: images.sh demands it.)"""
import os
import re

import source

LEAST = 7


def without_comments(text):
    def spaces(match):
        return match.group() if match.group()[0] in "\"'" else re.sub(r"[^\n]", " ", match.group())

    return source.COMMENT_OR_TEXT.sub(spaces, text)


def code_lines(text):
    """(line number, text without its white space)"""
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        plain = re.sub(r"\s+", "", line)
        if plain and not plain.startswith(("#include", "#pragma", "#undef")):
            yield number, plain


places, files = {}, {}
for path in source.files((".c", ".h", ".cu") + source.INCLUDED):
    with open(path, encoding="utf-8") as file:
        files[path] = list(code_lines(file.read()))
    for at in range(len(files[path]) - LEAST + 1):
        window = "\n".join(plain for _, plain in files[path][at : at + LEAST])
        places.setdefault(window, []).append((path, at))


def run_length(a, at, b, bt):
    length = 0
    while at + length < len(files[a]) and bt + length < len(files[b]):
        if files[a][at + length][1] != files[b][bt + length][1] or (a == b and at + length >= bt):
            break
        length += 1
    return length


found = {}
for window, where in places.items():
    for i, (a, at) in enumerate(where):
        for b, bt in where[i + 1 :]:
            starts = at == 0 or bt == 0 or files[a][at - 1][1] != files[b][bt - 1][1]
            length = run_length(a, at, b, bt)
            if not starts or length < LEAST:
                continue
            words = re.sub(r"\W+", " ", window).strip()[:40].strip()
            key = f"{os.path.basename(a)} {os.path.basename(b)} {length} {words}"
            found[key] = f"{a}:{files[a][at][0]} and {b}:{files[b][bt][0]} share {length} lines"
source.finish("duplicates", found)
