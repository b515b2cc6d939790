#!/usr/bin/env python3
"""Files by TLS with all that goes wrong with them, and a registry that wants bearer tokens, for test_published.sh.

    published_server.py CERTIFICATE KEY FILE REGISTRY

Prints its port. FILE is answered under these names, with an ETag and ranges: /good.onnx; /cut.onnx, whose first two answers end
after a third of it; /cut-always.onnx; /changing.onnx, whose first answer is of another state of the file and ends early. Of
registries it passes /v2/ on to REGISTRY, http://..., and takes a token of /token alone. Requests are logged on stderr."""
import hashlib
import http.server
import json
import ssl
import sys
import urllib.error
import urllib.request

certificate, key, file, registry = sys.argv[1:]
asked = {}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def end(self, status, headers=(), body=b"", size=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        self.close_connection = size is not None and size != len(body)

    def registry(self):
        if self.headers["Authorization"] != "Bearer sesame":
            here = f"https://127.0.0.1:{self.server.server_port}/token"
            return self.end(401, [("WWW-Authenticate", f'Bearer realm="{here}",service="the registry"')])
        request = urllib.request.Request(registry + self.path, headers={"Accept": self.headers["Accept"] or "*/*"})
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read()
        if self.path.startswith("/v2/models/broken/blobs/"):
            return self.end(200, body=body[:-9], size=len(body))
        if self.path.startswith("/v2/models/other/blobs/"):
            body = bytes(len(body))
        self.end(answer.status, [("Content-Type", answer.headers["Content-Type"] or "")], body)

    def file(self):
        body, count = open(file, "rb").read(), asked.get(self.path, 0)
        etag = '"%s"' % hashlib.sha256(body).hexdigest()[:9]
        if self.path == "/changing.onnx" and count < 2:
            return self.end(200, [("ETag", '"old"')], bytes(len(body) // 2), size=len(body))
        if self.headers["If-Match"] not in (None, etag):
            return self.end(412)
        start = int((self.headers["Range"] or "bytes=0-")[len("bytes="):-1])
        rest = body[start:]
        is_cut = self.path == "/cut-always.onnx" or (self.path == "/cut.onnx" and count < 3)
        self.end(206 if start else 200, [("ETag", etag)], rest[:len(rest) // 3] if is_cut else rest, len(rest))

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        asked[self.path] = asked.get(self.path, 0) + 1
        print(f"{self.path} {self.headers['Range'] or ''} {(self.headers['Authorization'] or '')[:6]}", file=sys.stderr, flush=True)
        self.answer()

    def answer(self):
        place = self.path.split("?")[0]
        targets = {"/moved.onnx": "/good.onnx?signed=1", "/round.onnx": "/round.onnx", "/plain.onnx": "http://127.0.0.1/x?signature=secret",
                   "/metadata.onnx": "https://169.254.169.254/latest"}
        if place in targets:
            self.end(302, [("Location", targets[place])])
        elif place == "/token":
            is_known = self.headers["Authorization"] == "Basic dXNlcjpvcGVu"
            self.end(200 if is_known else 401, body=json.dumps({"token": "sesame"}).encode() if is_known else b"")
        elif place.startswith("/v2/"):
            self.registry()
        elif place in ("/good.onnx", "/cut.onnx", "/cut-always.onnx", "/changing.onnx"):
            self.file()
        else:
            self.end(404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
