#!/usr/bin/env python3
"""The token endpoint of Entra ID, the part that workload identity uses, over TLS.

    token.py FOLDER      listens on a free port of 127.0.0.1, which it writes to FOLDER/token.port

Gives unsigned tokens that Azurite accepts, for the client "6c3" of tenant "t1", to any caller that presents
the content of FOLDER/federated; they last FOLDER/lifetime seconds (60). While FOLDER/refusals holds a number
above 0 it answers 503 and decrements the number. FOLDER/tokens counts the tokens given. A refusal repeats
the request's body, as a real server should not.
"""
import base64
import http.server
import json
import os
import ssl
import sys
import time
import urllib.parse

folder = sys.argv[1]
given = 0


def number_in(name, fallback):
    try:
        with open(f"{folder}/{name}") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        return fallback


def write(name, text):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(str(text))
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def encoded(tree):
    return base64.urlsafe_b64encode(json.dumps(tree).encode()).decode().rstrip("=")


def token(lifetime):
    now = int(time.time())
    claims = {"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/t1/",
              "iat": now, "nbf": now - 5, "exp": now + lifetime, "jti": given}
    return f"{encoded({'alg': 'none', 'typ': 'JWT'})}.{encoded(claims)}.x"


class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, tree):
        body = json.dumps(tree).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        global given
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(urllib.parse.parse_qsl(form))
        with open(f"{folder}/federated") as file:
            expected = {"client_id": "6c3", "scope": "https://storage.azure.com/.default",
                        "grant_type": "client_credentials", "client_assertion": file.read().strip(),
                        "client_assertion_type":
                            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
        refusals = number_in("refusals", 0)
        if refusals > 0:
            write("refusals", refusals - 1)
            self.answer(503, {"error": "temporarily_unavailable"})
        elif fields != expected or self.path != "/t1/oauth2/v2.0/token":
            self.answer(401, {"error": "invalid_client",
                              "error_description": f"AADSTS700213: no record for {form}"})
        else:
            lifetime = number_in("lifetime", 60)
            given += 1
            write("tokens", given)
            self.answer(200, {"token_type": "Bearer", "expires_in": lifetime,
                              "access_token": token(lifetime)})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{folder}/server.crt", f"{folder}/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
write("token.port", server.server_address[1])
server.serve_forever()
