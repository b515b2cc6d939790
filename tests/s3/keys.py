#!/usr/bin/env python3
"""The services that give keys to the pods of a node, EKS Pod Identity and instance metadata (version 2), as far as
they can be had without Amazon: what they give are keys of a role of the gateway of FOLDER, by its own token service.

    keys.py FOLDER ROLE     listens on a free port of 127.0.0.1, which it writes to FOLDER/keys.port

Google's metadata service is a third: its tokens are those of google.py, in FOLDER/google.token.
Pod Identity wants the content of FOLDER/pod-token. FOLDER/lifetime: the seconds that keys are said to last (3600).
FOLDER/odd: {"path": a part of it, "status": 503, "body": "...", "times": 2, "pause": seconds}, an answer instead.
FOLDER/given counts the keys given. A refusal repeats the request's headers, as a real server should not.
"""
import http.server
import json
import os
import ssl
import sys
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree

folder, role = sys.argv[1:]
TTL, TOKEN = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"
GOOGLE = "/computeMetadata/v1/instance/service-accounts/default/token"
ROLES = "/latest/meta-data/iam/security-credentials/"
given = 0


def read(name, fallback):
    try:
        with open(f"{folder}/{name}") as file:
            return file.read().strip()
    except FileNotFoundError:
        return fallback


def write(name, text):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(text)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def keys():
    global given
    form = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": role, "RoleSessionName": "node",
            "WebIdentityToken": read("token", "")}
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    answer = urllib.request.urlopen(f"https://127.0.0.1:{read('roles.port', '')}/", urllib.parse.urlencode(form).encode(), context=context)
    tree = xml.etree.ElementTree.fromstring(answer.read().decode())
    given += 1
    write("given", str(given))
    end = time.gmtime(time.time() + int(read("lifetime", "3600")))
    write("session", f"{tree.findtext('.//SecretAccessKey')}\n{tree.findtext('.//SessionToken')}\n")
    return {"AccessKeyId": tree.findtext(".//AccessKeyId"), "SecretAccessKey": tree.findtext(".//SecretAccessKey"),
            "Token": tree.findtext(".//SessionToken"), "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", end)}


def token():
    global given
    given += 1
    text = f"ya29.{os.urandom(12).hex()}"
    write("google.token", text)
    write("given", str(given))
    return {"access_token": text, "expires_in": int(read("lifetime", "3600")), "token_type": "Bearer"}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_odd(self):
        odd = json.loads(read("odd", "{}") or "{}")
        if not odd.get("times") or odd["path"] not in self.path:
            return False
        write("odd", json.dumps({**odd, "times": odd["times"] - 1}))
        time.sleep(odd.get("pause", 0))
        self.answer(odd.get("status", 200), odd.get("body", ""))
        return True

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not self.is_odd():
            good = self.path == "/latest/api/token" and self.headers[TTL]
            self.answer(200 if good else 400, "metadata-session==" if good else str(self.headers))

    def do_GET(self):
        has_session = self.headers[TOKEN] == "metadata-session=="
        if self.is_odd():
            return
        if self.path == "/v1/credentials" and self.headers["Authorization"] == read("pod-token", ""):
            self.answer(200, json.dumps(keys()))
        elif self.path == ROLES and has_session:
            self.answer(200, "node-role\n")
        elif self.path == ROLES + "node-role" and has_session:
            self.answer(200, json.dumps({"Code": "Success", "Type": "AWS-HMAC", **keys()}))
        elif self.path == GOOGLE and self.headers["Metadata-Flavor"] == "Google":
            self.answer(200, json.dumps(token()))
        else:
            self.answer(401, str(self.headers))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
write("keys.port", str(server.server_port))
server.serve_forever()
