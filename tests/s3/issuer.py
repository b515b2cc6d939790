#!/usr/bin/env python3
"""An issuer of service accounts' tokens (OpenID Connect), as a cluster is one, that the gateway of FOLDER trusts.

    issuer.py FOLDER         listens on a free port of 127.0.0.1, which it writes to FOLDER/issuer.port
    issuer.py FOLDER token   writes a token that lasts an hour to FOLDER/token, as the kubelet mounts one
    issuer.py FOLDER trust   has the gateway trust it
"""
import base64
import hashlib
import http.server
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import s3  # noqa: E402

folder = sys.argv[1]


def read(name):
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()


def write(name, data):
    with open(f"{folder}/{name}.new", "wb") as file:
        file.write(data)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def certificate():
    return ssl.PEM_cert_to_DER_cert(read("server.crt").decode())


def issuer():
    return f"http://127.0.0.1:{read('issuer.port').decode()}"


class Issuer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
               "x5c": [base64.b64encode(certificate()).decode()]}
        tree = {"keys": [key]} if self.path == "/keys" else {"issuer": issuer(), "jwks_uri": issuer() + "/keys"}
        body = json.dumps(tree).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


what = sys.argv[2] if len(sys.argv) > 2 else "listen"
if what == "listen":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    write("issuer.port", str(server.server_port).encode())
    server.serve_forever()
elif what == "token":
    now = int(time.time())
    claims = {"iss": issuer(), "aud": "sts.amazonaws.com", "sub": "system:serviceaccount:ml:scorer",
              "iat": now, "nbf": now - 5, "exp": now + 3600}
    text = b".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT", "kid": "1"}, claims))
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", f"{folder}/server.key"], input=text,
                          capture_output=True, check=True)
    write("token", text + b"." + encoded(made.stdout) + b"\n")
elif what == "trust":
    form = {"Action": "CreateOpenIDConnectProvider", "Version": "2010-05-08", "Url": issuer(),
            "ClientIDList.member.1": "sts.amazonaws.com",
            "ThumbprintList.member.1": hashlib.sha1(certificate()).hexdigest().upper()}
    s3.Client(folder).ask("POST", "/", "", urllib.parse.urlencode(form).encode(), service="iam")
