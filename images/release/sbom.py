#!/usr/bin/env python3
"""Writes an SPDX 2.3 document (JSON) of what is in an image or behind a program.

  sbom.py image NAME VERSION LAYOUT     an OCI layout (images/build.sh layout): Debian's packages from /var/lib/dpkg/status.d,
                                        our programs, and each library that is of no package
  sbom.py program NAME VERSION FILE [ARCHIVE...]   a program of this machine: Debian's packages of the libraries that it
                                        loads; of a static one, of the ARCHIVEs that it was linked with

SOURCE_DATE_EPOCH is the document's time. The same input gives the same document."""
import datetime
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

LIBRARIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../libraries.sh")
OURS = "usr/local/bin/"
LIBRARY = re.compile(r"^usr/lib/.*\.so(\.|$)")


def sums(data):
    return [{"algorithm": name, "checksumValue": hashlib.new(name.lower(), data).hexdigest()} for name in ("SHA1", "SHA256")]


def spdx_id(kind, *words):
    return "SPDXRef-%s-%s" % (kind, re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words)))


def fields(status):
    """The fields of a paragraph of dpkg's status."""
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", status, re.M))


def debian_package(status):
    package = fields(status)
    name, version, arch = package["Package"], package["Version"], package["Architecture"]
    purl = "pkg:deb/debian/%s@%s?arch=%s&distro=debian-12" % (name, version.replace("+", "%2B").replace(":", "%3A").replace("~", "~"), arch)
    return {
        "SPDXID": spdx_id("Package", name, version, arch),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": "built from the source package %s" % package.get("Source", name),
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


def our_file(path, data):
    return {
        "SPDXID": spdx_id("File", path),
        "fileName": "./" + path,
        "fileTypes": ["BINARY"],
        "checksums": sums(data),
        "licenseConcluded": "Apache-2.0" if path.startswith(OURS) or "/" not in path else "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def read_layout(layout):
    """The digest of the image's manifest, and its files as {path: bytes}; only those that matter here."""
    def blob(digest):
        with open(os.path.join(layout, "blobs", *digest.split(":")), "rb") as file:
            return file.read()

    with open(os.path.join(layout, "index.json")) as file:
        digest = json.load(file)["manifests"][0]["digest"]
    files, links = {}, {}
    for layer in json.loads(blob(digest))["layers"]:
        data = blob(layer["digest"])
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                path = member.name.lstrip("./")
                if member.isfile() and (path.startswith((OURS, "var/lib/dpkg/status.d/")) or LIBRARY.match(path)):
                    files[path] = tar.extractfile(member).read()
    return digest, files, links


def image(layout):
    digest, files, _ = read_layout(layout)
    statuses = [data.decode() for path, data in sorted(files.items()) if path.startswith("var/lib/dpkg/status.d/")]
    ours = [our_file(path, data) for path, data in sorted(files.items()) if path.startswith(OURS)]
    foreign = [path for path in files if LIBRARY.match(path) and re.search(r"/lib(cud|cublas|nccl|nvjpeg)", path)]
    ours += [our_file(path, files[path]) for path in sorted(foreign)]
    return digest, [debian_package(status) for status in statuses], ours, "CONTAINS"


def owners(paths):
    """The packages that these files are of. dpkg knows a file by the path in its package: with or without /usr."""
    names = {path: [name.replace("/usr", "", times) for name in (path, os.path.realpath(path)) for times in (0, 1)] for path in paths}
    asked = sorted({name for each in names.values() for name in each})
    # (It complains about names that no package has, and its exit code is 1.)
    found = subprocess.run(["dpkg-query", "-S"] + asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    package = {}
    for line in found.splitlines():
        of, _, name = line.partition(": ")
        if not of.startswith("diversion by "):
            package[name] = of.split(":")[0].split(",")[0]
    for path in paths:
        if not package.keys() & names[path]:
            sys.exit("sbom.py: %s is of no Debian package" % path)
    return sorted({next(package[name] for name in names[path] if name in package) for path in paths})


def program(path, archives):
    with open(path, "rb") as file:
        data = file.read()
    libraries = archives or subprocess.run([LIBRARIES, path], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    packages = owners(libraries)
    if not packages:
        sys.exit("sbom.py: %s: it loads no library: name the archives that it was linked with" % path)
    statuses = subprocess.run(["dpkg-query", "-s"] + packages, stdout=subprocess.PIPE, text=True, check=True).stdout.strip().split("\n\n")
    ours = [our_file(os.path.basename(path), data)]
    return "sha256:" + hashlib.sha256(data).hexdigest(), [debian_package(status) for status in statuses], ours, \
        "STATIC_LINK" if archives else "DYNAMIC_LINK"


def document(name, version, digest, packages, files, relation):
    kind, value = digest.split(":")
    main = {
        "SPDXID": spdx_id("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Windlass",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": kind.upper(), "checksumValue": value}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "CONTAINER" if relation == "CONTAINS" else "APPLICATION",
    }
    related = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": main["SPDXID"]}]
    related += [{"spdxElementId": main["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": file["SPDXID"]} for file in files]
    related += [{"spdxElementId": main["SPDXID"], "relationshipType": relation, "relatedSpdxElement": package["SPDXID"]} for package in packages]
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "%s-%s" % (name, version),
        "documentNamespace": "https://windlass.dev/spdx/%s-%s-%s" % (name, version, value),
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Organization: Windlass", "Tool: windlass-sbom-" + version]},
        "packages": [main] + packages,
        "files": files,
        "relationships": related,
    }


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("image", "program"):
        sys.exit(__doc__)
    kind, name, version, path = sys.argv[1:5]
    made = image(path) if kind == "image" else program(path, sys.argv[5:])
    json.dump(document(name, version, *made), sys.stdout, indent=1, sort_keys=True)
    print()


main()
