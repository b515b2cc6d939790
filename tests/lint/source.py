"""The C sources of lib/, operator/ and agent/ as text: functions, types, includes. Read without a compiler, so CUDA
sources are read on every machine; clang-format guarantees the layout this relies on (definitions start in the first
column, a body ends with a "}" in the first column).

Also the lists of exceptions: tests/lint/exceptions/NAME.txt, one "KEY  # reason" a line. A finding that is not listed fails, and
so does a listed one that is gone. `make lint-update` rewrites the lists; it never makes one longer."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.chdir(ROOT)
CODE = ("lib/", "operator/", "agent/")
INCLUDED = (".inc", ".cuh")  # rows of tables and loops that several sources include
UPDATE = "--update" in sys.argv[1:]


def files(suffixes=(".c", ".h", ".cu"), folders=CODE):
    """Tracked and new files with one of these suffixes below one of these folders, sorted."""
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    names = {n for n in out.split("\0") if n.endswith(suffixes) and n.startswith(folders)}
    return sorted(n for n in names if os.path.isfile(n))


COMMENT_OR_TEXT = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S
)


def blank(text):
    """The text without comments and with empty strings; lines and columns stay."""

    def spaces(match):
        found = match.group()
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[0]
        return re.sub(r"[^\n]", " ", found)

    return COMMENT_OR_TEXT.sub(spaces, text)


class Function:
    """name, is_static (a CUDA kernel, too), line (of the first line of the definition), end (of its "}"), parameters, body (blanked)."""

    def __init__(self, name, signature, line, body_line, end, body):
        self.name, self.line, self.end, self.body = name, line, end, body
        self.body_line = body_line
        self.is_static = bool(re.search(r"\b(?:static|__global__|__device__)\b", signature.split("(")[0]))
        self.parameters = count_parameters(signature[signature.index(name) + len(name) :])


def count_parameters(text):
    """Of "(int a, void (*b)(int, int)) {": 2."""
    depth, commas, inside = 0, 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            break
        commas += letter == "," and depth == 1
        inside += letter
    return 0 if inside.strip("( \n\t") in ("", "void") else commas + 1


ATTRIBUTE = re.compile(
    r'\b(?:__attribute__\s*\(\(.*?\)\)|PRINTF_LIKE\([^)]*\)|__launch_bounds__\([^)]*\)|extern "[^"]*")', re.S
)


class Source:
    """One file: path, text, code (blanked), functions, types {(kind, name): line} defined here, opaque (struct tags
    named but not defined here), constants {enum constant: line}, declared {function declared here}, includes."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.code = blank(self.text)
        self.functions, self.types, self.opaque, self.constants = [], {}, set(), {}
        self.declared, self.variables = set(), set()
        self.includes = re.findall(r'^#include "([^"]+)"', self.text, re.M)
        self.lines = self.code.split("\n")
        self.read()

    def read(self):
        at, lines = 0, self.lines
        while at < len(lines):
            if not re.match(r"[A-Za-z_]", lines[at]):
                at += 1
                continue
            start, head = at, ""
            while at < len(lines):
                head += lines[at] + "\n"
                at += 1
                if re.search(r"[;{}]\s*$", head):
                    break
            opened = head.rstrip().endswith("{")
            end = at
            if opened:
                while end < len(lines) and not lines[end].startswith("}"):
                    end += 1
            self.item(head, start, at, end, opened)
            if opened and not re.match(r'(?:namespace|extern " *")', head):
                at = end + 1

    def item(self, head, start, body_start, end, opened):
        plain = ATTRIBUTE.sub(" ", head)
        before = plain.split("=")[0]
        body = "\n".join(self.lines[body_start:end])
        kind = re.match(r"\s*(?:typedef\s+)?(struct|enum|union)\s*(\w*)\s*([{;:])", plain)
        if kind and opened:
            self.type(kind.group(1), kind.group(2), body, start)
        elif kind and kind.group(3) == ";":
            self.opaque.add(kind.group(2))
        elif kind and kind.group(1) == "enum":  # enum { X = 1 }; in one line
            self.type("enum", kind.group(2), plain[plain.index("{") + 1 : plain.rindex("}")], start)
        elif re.match(r"(?:static_assert|_Static_assert|typedef)\b", plain):
            return
        elif "(" in before:
            name = re.search(r"(\w+)\s*\(", plain)
            if name and opened and not name.group(1).isupper():  # not a row of a table made by a macro
                self.functions.append(Function(name.group(1), plain, start + 1, body_start, end, body))
            elif name and not re.search(r"\bstatic\b", before):
                self.declared.add(name.group(1))
        else:
            variable = re.search(r"(\w+)\s*(?:\[[^=]*\])*\s*(?:=|;|$)", before.strip() + "=")
            if variable and not re.search(r"\b(?:static|extern)\b", before) and re.match(r"\w+\s+\W*\w", before):
                self.variables.add(variable.group(1))
        for type_kind, name, inner in re.findall(r"\b(struct|enum|union)\s+(\w+)\s*\{([^{}]*)\}", body if opened else ""):
            if kind:  # a type inside a type is public as well
                self.type(type_kind, name, inner, start)

    def type(self, kind, name, body, line):
        if name:
            self.types[(kind, name)] = line + 1
        if kind == "enum":
            for part in re.sub(r"\([^()]*\)", "", re.sub(r"^#.*", "", body, flags=re.M)).split(","):
                constant = re.match(r"\s*([A-Za-z_]\w*)", part)
                if constant:
                    self.constants[constant.group(1)] = line + 1

    @property
    def folder(self):
        return os.path.dirname(self.path)

    @property
    def stem(self):
        return os.path.splitext(os.path.basename(self.path))[0]


def load(folders=CODE, suffixes=(".c", ".h", ".cu")):
    return {path: Source(path) for path in files(suffixes, folders)}


CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")  # git's: both sides count, then lint-update settles it


def list_path(name):
    return f"tests/lint/exceptions/{name}.txt"


def read_list(name):
    """{key: reason} of tests/lint/exceptions/NAME.txt; empty when there is no such file."""
    listed = {}
    if os.path.exists(list_path(name)):
        with open(list_path(name), encoding="utf-8") as file:
            for line in file:
                if line.startswith(CONFLICT):
                    continue
                key, _, reason = line.rstrip("\n").partition("#")
                if key.strip():
                    listed[key.strip()] = reason.strip()
    return listed


def header_of(name):
    with open(list_path(name), encoding="utf-8") as file:
        return [line for line in file if line.startswith("#")]


def write_list(name, keys, listed):
    head = header_of(name) if os.path.exists(list_path(name)) else []
    with open(list_path(name), "w", encoding="utf-8") as file:
        file.writelines(head)
        for key in sorted(keys):
            reason = listed.get(key) or keys[key]
            file.write(f"{key}  # {reason}\n" if reason else f"{key}\n")


def finish(name, found):
    """Compares what was found, {key: message}, with the list; prints the verdict; exits."""
    listed = read_list(name)
    if UPDATE:
        if len(found) > len(listed) and os.path.exists(list_path(name)):
            added = "".join(f"\n  {found[key]}" for key in sorted(set(found) - set(listed)))
            sys.exit(f"{name}: {len(found)} findings, the list has {len(listed)}; it only gets shorter. New:{added}")
        write_list(name, {key: "" for key in found}, listed)
        print(f"{list_path(name)}: {len(found)} exceptions")
        sys.exit(0)
    bad = [f"not ok {found[key]}" for key in sorted(found) if key not in listed]
    bad += [
        f"not ok {list_path(name)}: '{key}' is mended or renamed: run make lint-update"
        for key in sorted(listed)
        if key not in found
    ]
    print("\n".join(bad) if bad else f"ok {name}")
    sys.exit(1 if bad else 0)


def finish_counts(name, found):
    """Like finish, of {key: [messages]}: tests/lint/exceptions/NAME.txt has "COUNT KEY" lines, and no count may rise."""
    most = {}
    if os.path.exists(list_path(name)):
        with open(list_path(name), encoding="utf-8") as file:
            for count, key in (line.split()[:2] for line in file if line[0] not in "#<=>"):
                most[key] = max(most.get(key, 0), int(count))  # a merge may leave two
        head = header_of(name)
    else:
        most, head = ({key: len(hits) for key, hits in found.items()} if UPDATE else {}), []
    bad = {key: hits for key, hits in found.items() if len(hits) > most.get(key, 0)}
    if bad:
        for key, hits in sorted(bad.items()):
            print(f"not ok {name}: {key} has {len(hits)} findings, at most {most.get(key, 0)} (list them: tests/lint/{name}.sh {key})")
            print("\n".join(f"#   {hit}" for hit in hits[:20]))
        sys.exit(1)
    if UPDATE:
        counted = sum(map(len, found.values()))
        if not counted and not head:
            sys.exit(0)
        with open(list_path(name), "w", encoding="utf-8") as file:
            file.writelines(head)
            file.writelines(f"{len(hits)} {key}\n" for key, hits in sorted(found.items()) if hits)
        print(f"{list_path(name)}: {counted} findings left")
    else:
        print(f"ok {name}")
