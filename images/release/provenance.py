#!/usr/bin/env python3
"""Writes the provenance of a release: an in-toto statement whose predicate is SLSA's (https://slsa.dev/provenance/v1).

  provenance.py statement VERSION FOLDER LAYOUTS NAME=VALUE...   the subjects are the files of FOLDER, and the images whose OCI
                            layouts are in LAYOUTS (NAME=VALUE: what the release was made with, REGISTRY among them)
  provenance.py pae FILE    the bytes that a signature of the statement in FILE is made over (DSSE, version 1)
  provenance.py envelope FILE SIGNATURE   the statement in FILE and its signature (base64), as cosign verifies them

The same commit gives the same statement: it has no time, machine or name of a builder's account."""
import base64
import hashlib
import json
import os
import subprocess
import sys

TYPE = "application/vnd.in-toto+json"
BUILD_TYPE = "https://windlass.dev/release/v1"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COMPILERS = ("gcc-12", "libc6-dev", "binutils", "make")


def sha256(path):
    with open(path, "rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def said(*command):
    """What a command prints; None: it fails, or is not here."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def image(layouts, registry, name):
    with open(os.path.join(layouts, name, "index.json")) as file:
        kind, value = json.load(file)["manifests"][0]["digest"].split(":")
    return {"name": "%s/%s" % (registry, name), "digest": {kind: value}}


def source():
    """The commit; nothing where there is none, or files differ from it or are not in it (each C file of a folder is compiled):
    a wrong one would be worse."""
    commit = said("git", "rev-parse", "--verify", "HEAD^{commit}")
    if not commit or said("git", "status", "--porcelain", "--untracked-files=normal") != "":
        return []
    return [{"name": "source", "digest": {"gitCommit": commit}}]


def tools():
    found = []
    for name in COMPILERS:
        version = said("dpkg-query", "-W", "-f=${Version}", name)
        if version:
            found.append({"uri": "pkg:deb/debian/%s@%s?distro=debian-12" % (name, version.replace("+", "%2B").replace(":", "%3A"))})
    return found


def statement(version, folder, layouts, settings):
    settings = dict(setting.split("=", 1) for setting in settings)
    files = [{"name": name, "digest": sha256(os.path.join(folder, name))} for name in sorted(os.listdir(folder))]
    images = [image(layouts, settings["REGISTRY"], "windlass-" + name) for name in settings.get("IMAGES", "").split()]
    lock = {"name": "images/packages.lock", "digest": sha256(os.path.join(ROOT, "images/packages.lock"))}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files + images,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version, **settings},
                "internalParameters": {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "0")},
                "resolvedDependencies": source() + [lock] + tools(),
            },
            "runDetails": {"builder": {"id": "https://windlass.dev/release/by-hand"}},
        },
    }


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    what, arguments = sys.argv[1:2], sys.argv[2:]
    if what == ["statement"] and len(arguments) >= 3:
        json.dump(statement(*arguments[:3], arguments[3:]), sys.stdout, indent=1)
        print()
    elif what == ["pae"] and len(arguments) == 1:
        payload = read(arguments[0])
        sys.stdout.buffer.write(b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload))
    elif what == ["envelope"] and len(arguments) == 2:
        json.dump({"payloadType": TYPE, "payload": base64.b64encode(read(arguments[0])).decode(), "signatures": [{"sig": arguments[1]}]}, sys.stdout)
        print()
    else:
        sys.exit(__doc__)


main()
