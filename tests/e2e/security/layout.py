"""layout.py ROOT LAYOUT: writes a folder as an OCI layout of one layer, which a registry takes."""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

root, layout = sys.argv[1:]
os.makedirs(os.path.join(layout, "blobs", "sha256"))


def add(data, kind):
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(layout, "blobs", "sha256", digest), "wb") as file:
        file.write(data)
    return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}


stream = io.BytesIO()
with tarfile.open(fileobj=stream, mode="w") as tar:
    tar.add(root, arcname=".")
layer = add(gzip.compress(stream.getvalue()), "application/vnd.oci.image.layer.v1.tar+gzip")
config = add(json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {
    "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(stream.getvalue()).hexdigest()]}}).encode(), "application/vnd.oci.image.config.v1+json")
manifest = add(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [layer]}).encode(),
               "application/vnd.oci.image.manifest.v1+json")
manifest["annotations"] = {"org.opencontainers.image.ref.name": "1"}
with open(os.path.join(layout, "index.json"), "w") as file:
    json.dump({"schemaVersion": 2, "manifests": [manifest]}, file)
with open(os.path.join(layout, "oci-layout"), "w") as file:
    json.dump({"imageLayoutVersion": "1.0.0"}, file)
