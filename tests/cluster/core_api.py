#!/usr/bin/env python3
"""What the admission plug-in for ValidatingAdmissionPolicies reads of a cluster's API server, for an API server that has
custom resources alone (crd-server.sh): namespaces, policies, their bindings; by http.

    core_api.py PORT OBJECTS      JSON: a list of ValidatingAdmissionPolicies and Bindings; they never change"""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KINDS = {"namespaces": ("v1", "Namespace"),
         "validatingadmissionpolicies": ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
         "validatingadmissionpolicybindings": ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding")}
SPACE = {"apiVersion": "v1", "kind": "Namespace",
         "metadata": {"name": "default", "labels": {"kubernetes.io/metadata.name": "default"}}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def tell(self, code, what):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.write(what)

    def write(self, what):
        self.wfile.write(json.dumps(what).encode() + b"\n")
        self.wfile.flush()

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        resource = url.path.rsplit("/", 1)[-1]
        if resource not in KINDS:
            self.tell(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
            return
        version, kind = KINDS[resource]
        found = [one for one in objects if one["kind"] == kind]
        if "watch" not in query:
            self.tell(200, {"kind": kind + "List", "apiVersion": version, "metadata": {"resourceVersion": "9"}, "items": found})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if "sendInitialEvents" in query:
            for one in found:
                self.write({"type": "ADDED", "object": one})
            self.write({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": version, "metadata": {
                "resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}})
        self.wfile.flush()
        threading.Event().wait()

    def log_message(self, *_):
        pass


objects = json.load(open(sys.argv[2], encoding="utf-8")) + [SPACE]
for number, one in enumerate(objects):
    one["metadata"].update(uid=f"u-{number}", resourceVersion=str(number + 1), generation=1)
    if one["kind"] == "ValidatingAdmissionPolicy":  # what the API server fills in
        match = one["spec"]["matchConstraints"]
        for field, default in (("namespaceSelector", {}), ("objectSelector", {}), ("matchPolicy", "Equivalent")):
            match.setdefault(field, default)
        for rule in match["resourceRules"]:
            rule.setdefault("scope", "*")
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
