#!/usr/bin/env python3
"""The XML interface of Google's Cloud Storage, as far as its documentation tells and tests need it, in front of the gateway
of FOLDER, which keeps the objects.

    google.py FOLDER    listens with TLS on a free port of 127.0.0.1, which it writes to FOLDER/google.port

It checks signatures (GOOG4-HMAC-SHA256) by the keys FOLDER/admin/AWS_..., takes the tokens that keys.py has given, has an
object made once by x-goog-if-generation-match: 0 alone, refuses that for uploads in parts, and every header of Amazon's.
FOLDER/google.counts: how many requests had a signature, a token, a condition.
"""
import datetime
import hashlib
import hmac
import http.client
import http.server
import json
import os
import ssl
import sys
import threading
import urllib.parse

folder = sys.argv[1]
SCHEME = "GOOG4-HMAC-SHA256"
counts = {"signed": 0, "tokens": 0, "conditions": 0, "refused": 0}
lock = threading.Lock()


def read(name):
    with open(f"{folder}/{name}") as file:
        return file.read().strip()


def write(name, text):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(text)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def count(what):
    with lock:
        counts[what] += 1
        write("google.counts", json.dumps(counts))


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(scheme, secret, scope, time, method, target, headers, payload):
    """headers: (lower-case name, value), in order. scope: DATE/REGION/SERVICE/END."""
    path, _, query = target.partition("?")
    query = "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part))
    lines = "".join(f"{name}:{value}\n" for name, value in headers)
    names = ";".join(name for name, _ in headers)
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"
    text = f"{scheme}\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = (scheme.partition("-")[0] + secret).encode()
    for part in scope.split("/"):
        key = mac(key, part)
    return mac(key, text).hex()


class Refused(Exception):
    pass


class Google(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream = None

    def log_message(self, *arguments):
        pass

    def check_signature(self, given):
        fields = dict(part.strip().split("=", 1) for part in given[len(SCHEME):].split(","))
        name, _, scope = fields["Credential"].partition("/")
        signed = fields["SignedHeaders"].split(";")
        if name != read("admin/AWS_ACCESS_KEY_ID"):
            raise Refused(403, "InvalidSecurity")
        own = [header.lower() for header in self.headers if header.lower().startswith("x-goog-")]
        if scope.split("/")[2:] != ["storage", "goog4_request"] or "host" not in signed or set(own) - set(signed):
            raise Refused(400, "InvalidArgument")
        time = self.headers["x-goog-date"]
        now = datetime.datetime.now(datetime.timezone.utc)
        then = datetime.datetime.strptime(time, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((now - then).total_seconds()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        made = signature(SCHEME, read("admin/AWS_SECRET_ACCESS_KEY"), scope, time, self.command, self.path,
                         [(header, self.headers[header]) for header in signed], self.headers["x-goog-content-sha256"])
        if not hmac.compare_digest(made, fields["Signature"]):
            raise Refused(403, "SignatureDoesNotMatch")
        count("signed")

    def check(self):
        given = self.headers["Authorization"] or ""
        if any(header.lower().startswith("x-amz-") for header in self.headers):
            raise Refused(400, "ExcessHeaderValues")
        if given.startswith(SCHEME + " "):
            self.check_signature(given)
        elif os.path.exists(f"{folder}/google.token") and given == "Bearer " + read("google.token"):
            count("tokens")
        else:
            raise Refused(401, "AuthenticationRequired")

    def forwarded(self):
        """The headers for the gateway."""
        names = {"content-type": "Content-Type", "range": "Range", "if-match": "If-Match"}
        headers = {names[name.lower()]: value for name, value in self.headers.items() if name.lower() in names}
        time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        own = {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": time}
        for name, value in self.headers.items():
            if name.lower().startswith("x-goog-meta-"):
                own["x-amz-meta-" + name.lower()[len("x-goog-meta-"):]] = value
        if "x-goog-if-generation-match" in self.headers:
            if self.command != "PUT" or "uploadId=" in self.path:
                raise Refused(400, "NotImplemented")
            if self.headers["x-goog-if-generation-match"] != "0":
                raise Refused(400, "InvalidArgument")
            headers["If-None-Match"] = "*"
            count("conditions")
        scope = f"{time[:8]}/us-east-1/s3/aws4_request"
        signed = [("host", f"127.0.0.1:{read('port')}")] + sorted(own.items())
        made = signature("AWS4-HMAC-SHA256", read("admin/AWS_SECRET_ACCESS_KEY"), scope, time, self.command, self.path, signed,
                         "UNSIGNED-PAYLOAD")
        headers.update(own)
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={read('admin/AWS_ACCESS_KEY_ID')}/{scope}, "
                                    f"SignedHeaders={';'.join(name for name, _ in signed)}, Signature={made}")
        return headers

    def ask_gateway(self, headers, body):
        if not self.upstream:
            context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
            self.upstream = http.client.HTTPSConnection(f"127.0.0.1:{read('port')}", context=context)
        self.upstream.request(self.command, self.path, body=body, headers=headers)
        answer = self.upstream.getresponse()
        return answer, answer.read()

    def handle_any(self):
        size = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(size) if size else b""
        try:
            self.check()
            answer, data = self.ask_gateway(self.forwarded(), body)
        except Refused as refused:
            count("refused")
            status, code = refused.args
            self.answer(status, [], f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode())
            return
        headers = []
        for name, value in answer.getheaders():
            if name.lower().startswith("x-amz-meta-"):
                headers.append(("x-goog-meta-" + name.lower()[len("x-amz-meta-"):], value))
            elif name.lower() in ("etag", "last-modified", "content-type", "content-range"):
                headers.append((name, value))
        size = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.answer(answer.status, headers, data, size)

    def answer(self, status, headers, data, size=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", size or str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def finish_request(self, request, client_address):  # the handshake, in the connection's own thread
        Google(context.wrap_socket(request, server_side=True), client_address, self)

    def handle_error(self, request, client_address):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{folder}/server.crt", f"{folder}/server.key")
server = Server(("127.0.0.1", 0), Google)
write("google.port", str(server.server_port))
server.serve_forever()
