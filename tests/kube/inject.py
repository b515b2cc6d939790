#!/usr/bin/env python3
"""Webhooks as others run them, for an API server that tests/cluster/api-server.sh started:

    inject.py FOLDER      FOLDER is api-server.sh's; until it is ended. FOLDER/inject-port gets its port.

https://127.0.0.1:PORT/add adds a container to each pod, /strip takes the label of our job off, and /deny refuses, without a
code, as webhooks that set none do. What sends it what is up to the caller's configuration of webhooks."""
import base64
import http.server
import json
import os
import ssl
import sys

folder = sys.argv[1]
PATCHES = {"/add": [{"op": "add", "path": "/spec/containers/-", "value": {"name": "mesh", "image": "registry.test/mesh:1"}}],
           "/strip": [{"op": "remove", "path": "/metadata/labels/windlass.dev~1job"}]}


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {"uid": review.pop("request")["uid"], "allowed": True}
        what = self.path.split("?")[0]
        if what == "/deny":
            response.update(allowed=False, status={"message": "not in this namespace"})
        else:
            response.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(PATCHES[what]).encode()).decode())
        review["response"] = response
        answer = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/pki/server.crt", folder + "/pki/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(folder + "/inject-port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(folder + "/inject-port.new", folder + "/inject-port")
server.serve_forever()
