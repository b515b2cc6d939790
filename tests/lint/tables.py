"""Tables: an array whose rows are in the order of an enum's values has a static assertion of its length. Otherwise a new
value reads past the array, or, where the array has a size, a row of zeros. Either of:
  static const char *const names[] = {"a", "b"};
  static_assert(ARRAY_LEN(names) == KIND_COUNT, "one name per kind"); (KIND_LAST + 1 misses what comes after)
or rows with designators ([KIND_A] = "a"), none of which can take the place of another.
Where a header in scope declares the array with its size (extern ... names[KIND_COUNT];), the assertion says nothing: the
definition takes over that size. So headers leave it out.
A constant array counts as indexed by an enum where an index of it is a variable, parameter or field that is declared as `enum X`,
where the function casts the index to an enum, or where it counts it up to a ..._COUNT. Read without a compiler: an index computed by a function is not seen."""
import re

import source

TABLE = re.compile(r"^(?!extern\b)[^\n;=(){}]*?\bconst\b[^\n;=(){}]*?\b(\w+)\s*\[([^\]\n]*)\]\s*=\s*(?:\{|\")", re.M)
DECLARED = re.compile(r"\benum\s+\w+\s+((?:\w+(?:\s*,\s*\w+)*))\s*(?:[;,)=\[:]|$)", re.M)


def enum_names(code):
    """Variables, parameters and fields that `code` declares with the type of an enum."""
    return {name for names in DECLARED.findall(code) for name in re.split(r"\s*,\s*", names)}


def indices(code, name):
    """Each index of the array `name`: its text, the function around it, and what of that comes before."""
    for match in re.finditer(rf"(?<![\w.>]){name}\s*\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]", code):
        start, end = code.rfind("\n}", 0, match.start()), code.find("\n}", match.end())
        function = code[start + 1 : end if end >= 0 else len(code)]
        yield match.group(1).strip(), function, code[start + 1 : match.start()]


def is_enum(index, function, before, own, fields):
    """own: names of this file; fields: names of members of types in any file."""
    if re.match(r"\(\s*enum\b", index):
        return True
    last = re.search(r"(\.|->)?\s*(\w+)(?:\s*-\s*\w+)?$", index)
    if not last:
        return False
    if last.group(2) in (fields if last.group(1) else own):
        return True
    if not re.fullmatch(r"\w+", index):
        return False
    limits = re.findall(rf"\b{index} < (\w+)", before)
    return bool(re.search(rf"\(\s*enum\s+\w+\s*\)\s*{index}\b", function)) or bool(limits and re.search(r"_COUNTS?$", limits[-1]))


def findings(path, code, fields, sized):
    """sized: arrays that a header declares with their size."""
    own = enum_names(code)
    for name in re.findall(r"[sS]tatic_assert\(\s*ARRAY_LEN\((\w+)\)", code):
        if name in sized:
            yield name, f"{path}: static_assert(ARRAY_LEN({name})) says nothing: {sized[name]} declares the size, expected {name}[]"
    for table in TABLE.finditer(code):
        name, size = table.groups()
        scope = code[table.end() :]
        if code[table.start()].isspace():  # in a function
            scope = scope.split("\n}")[0]
        is_other = re.match(r"\s*(?:\[|(?:NULL|false|0)\s*\})", scope)  # designators; cleared
        if is_other or not any(is_enum(*index, own, fields) for index in indices(scope, name)):
            continue
        asserted = re.search(rf"[sS]tatic_assert\(\s*(?:ARRAY_LEN\({name}\)|sizeof\(?\s*{name}\b)", scope)
        line = code.count("\n", 0, table.start(1)) + 1
        if asserted and not size:
            continue
        wanted = f"{name}[] and " if size else ""
        yield name, f"{path}:{line}: {name} is indexed by an enum: expected {wanted}static_assert(ARRAY_LEN({name}) == ..._COUNT, ...)"


FILES = {path: source.blank(open(path, encoding="utf-8").read()) for path in source.files()}
FIELDS = {
    name
    for code in FILES.values()
    for body in re.findall(r"\b(?:struct|union)\s+\w*\s*\{(.*?)\n\s*\}", code, re.S)
    for name in enum_names(body)
}
SIZED = {
    name: path for path, code in FILES.items() if path.endswith(".h") for name in re.findall(r"^extern\b[^;(]*?(\w+)\[\w+\];", code, re.M)
}
# This check can fail: it refuses the first four of these, and no other.
SAMPLES = (
    "static const int names[] = {1, 2};\nint f(enum a kind) { return names[kind]; }",
    "static const int names[2] = {1, 2};\nint f(struct s *s) { return names[s->a_field]; }",
    'static const char letters[] = "  ";\nint f(int i) { return letters[i] ? (enum a)i : 0; }',
    'int sized[] = {1, 2};\nstatic_assert(ARRAY_LEN(sized) == A_COUNT, "");',
    "static const int names[] = {1, 2};\nstatic_assert(ARRAY_LEN(names) == A_COUNT, \"\");\nint f(enum a kind) { return names[kind]; }",
    "static const int names[] = {[A] = 1};\nint f(enum a kind) { return names[kind]; }",
    "static const int names[] = {1, 2};\nint f(int kind) { return names[kind]; }",
)
for at, sample in enumerate(SAMPLES):
    assert bool(list(findings("x.c", sample, {"a_field"}, {"sized": "x.h"}))) == (at < 4), sample
found = {f"{path} {name}": line for path, code in FILES.items() for name, line in findings(path, code, FIELDS, SIZED)}
source.finish("tables", found)
