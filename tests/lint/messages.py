"""Error messages: the text of each error_set, error_from_errno, job_refuse and fields_refuse says what is wrong in words. Refused:
  1. two numbers alone ("index %lld of %lld", "node X: length %d of %d"): say which of them is expected;
  2. what is not done instead of what is supported ("is encrypted, which is not read");
  3. a full stop or an exclamation mark at the end;
  4. an apology ("sorry", "please", "oops") and "illegal"."""
import re

import source

CALL = re.compile(r"\b(?:error_set|error_from_errno|job_refuse|fields_refuse)\(")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"|PRI[dux]\d+')
NUMBER = r"%[-+ #0-9.]*(?:l|ll|z|j)?[diu]"
found = {}


def messages(text):
    """(line, the longest literal of its arguments) of each call."""
    for call in CALL.finditer(text):
        depth, at = 1, call.end()
        best = ""
        while at < len(text) and depth:
            if text[at] == '"':
                literal = ""
                while True:
                    part = STRING.match(text, at)
                    if not part:
                        break
                    literal += part.group(1) or "%d"
                    at = part.end()
                    space = re.match(r"\s*", text[at:]).end()
                    if not STRING.match(text, at + space):
                        break
                    at += space
                best = max(best, literal, key=len)
                continue
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        yield text.count("\n", 0, call.start()) + 1, best


def fault(message):
    if re.search(rf"(?:^|: )(?:\w+ )?{NUMBER}(?: \w+){{0,2}} (?:of|and|by) {NUMBER}(?: \w+)?$", message):
        return "two numbers: say what is expected"
    if re.search(r"which (?:is|are) not (?:read|supported|done)|, which is not$", message):
        return "say it as \"...; NAME is not supported\""
    if re.search(rf"\bhas the value {NUMBER}$", message):
        return "say which values are expected"
    if re.search(r"\b(?:exclude each other$|leads? to something\b)|, (?!at most|only)[^,;:]* (?:is|are) read$", message):
        return "say what is expected"
    if re.search(r"[.!]$", message) and not message.endswith(("...", "spec.")):
        return "ends with a mark"
    if re.search(r"\b(?:sorry|please|oops|illegal)\b", message, re.I):
        return "say what is wrong and what is expected"
    return ""


# This check can fail: of these it refuses those that end with a star.
for sample in ("index %lld of %lld*", "node %s: length %lld of %lld*", "has %zu bytes, at most %d are supported", "is encrypted, which is not read*", "no such file.*",
               "illegal name*", "attribute %s has the value %lld*", "type 0x%02x, 0x08 (bytes) is read*", "%s leads to something other than text*", "%lld of %lld files are there"):
    assert bool(fault(sample.rstrip("*"))) == sample.endswith("*"), sample
for path in source.files((".c", ".h", ".inc")):
    text = open(path, encoding="utf-8").read()
    for line, message in messages(text):
        why = fault(message)
        if why:
            found[f"{path} {message}"] = f"{path}:{line}: \"{message}\": {why}"
source.finish("messages", found)
