"""clang-tidy over every source that is built here, by .clang-tidy. A file that passed is remembered by a hash of itself,
of what it includes of ours, its flags, .clang-tidy, clang-tidy's and gcc's versions and the packages that have headers: in
~/.cache/windlass/tidy, so that all working trees share it. From nothing it takes about two minutes of one processor.

tidy.sh FILE... checks these alone, and forgets nothing."""
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import source

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-I.", "-pthread", "-fopenmp-simd", "-Wno-unknown-warning-option"]
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "windlass", "tidy")
KEPT_DAYS = 30

if not shutil.which("clang-tidy"):
    sys.exit(print("not ok tidy: there is no clang-tidy (make deps-test installs it)") or 1)


def said_by(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def packages():
    """The packages with headers that a build here needs (images/deps.sh) and their versions, a line each. Not all that are
    installed: tests install others, for the programs that they compare with."""
    with open("images/deps.sh", encoding="utf-8") as file:
        wanted = set(re.findall(r"[a-z0-9.+-]+-dev\b", file.read())) | {"linux-libc-dev"}
    found, depends = {}, {}
    for line in said_by("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Depends}\n", "*-dev*").decode().splitlines():
        name, version, needs = line.split("\t")
        if version:
            found[name], depends[name] = version, re.findall(r"[a-z0-9.+-]+-dev\b", needs)
    more = wanted
    while more:
        more = {need for name in more for need in depends.get(name, ())} - wanted
        wanted |= more
    return "\n".join(f"{name} {found[name]}" for name in sorted(wanted & found.keys())).encode()


BASE = said_by("clang-tidy", "--version") + said_by("gcc", "-dumpfullversion") + packages()
with open(".clang-tidy", "rb") as config:
    BASE += config.read()
listed = said_by("make", "-s", "tidy-sources").decode()
SOURCES = {line.split()[0]: line.split()[1:] for line in listed.splitlines() if line.strip()}
FILES = source.load(suffixes=(".c", ".h", ".cu") + source.INCLUDED)


def included(path, seen):
    """path and all our files that it includes."""
    if path not in FILES:
        sys.exit(print(f"not ok tidy: {path} is included, and is not among the files that are hashed") or 1)
    if path not in seen:
        seen.add(path)
        for each in FILES[path].includes:
            included(each, seen)
    return seen


def key_of(path):
    files = sorted(included(path, set()))
    flags = SOURCES[path]
    # What CUDA is to most sources: nothing. They are remembered with it and without.
    if not any(re.search(r"WITH_CUDA|include <(cud|cublas|nccl|nv)", FILES[each].text) for each in files):
        flags = [flag for flag in flags if not re.search(r"^-isystem$|CUDA|/cuda", flag)]
    digest = hashlib.sha256(BASE + " ".join(FLAGS + flags).encode())
    for each in files:
        digest.update(b"\0" + each.encode() + b"\0" + FILES[each].text.encode())
    return os.path.join(CACHE, digest.hexdigest())


def check(path):
    """clang-tidy's findings in a file; empty when it passes."""
    ran = subprocess.run(
        ["clang-tidy", "--quiet", path, "--", *FLAGS, *SOURCES[path]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    said = ran.stdout.decode(errors="replace").replace(source.ROOT + "/", "")
    return said if ran.returncode else ""


wanted = [path for path in SOURCES if path in FILES]
named = [a for a in sys.argv[1:] if not a.startswith("--")]
if named:
    wanted = [path for path in wanted if path in named]
os.makedirs(CACHE, exist_ok=True)
keys = {path: key_of(path) for path in wanted}
for path in wanted:
    if os.path.exists(keys[path]):
        os.utime(keys[path])
left = [path for path in wanted if named or not os.path.exists(keys[path])]
bad = 0
with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    for path, said in zip(left, pool.map(check, left)):
        if not said:
            open(keys[path], "w", encoding="utf-8").close()
            continue
        bad += 1
        for line in said.splitlines()[:40]:
            print(f"not ok {line}" if " error: " in line or " warning: " in line else f"# {line}")
for name in os.listdir(CACHE):
    try:
        if os.stat(os.path.join(CACHE, name)).st_mtime < time.time() - KEPT_DAYS * 86400:
            os.unlink(os.path.join(CACHE, name))
    except FileNotFoundError:
        pass  # another lint was faster
if not bad:
    print("ok tidy")
sys.exit(1 if bad else 0)
