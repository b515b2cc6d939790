#!/usr/bin/env python3
"""Requests to the gateway of FOLDER, with its own keys; signed here, by another program than the one that is tested.

    s3.py FOLDER upload BUCKET/PATH LOCAL     all files below the folder LOCAL, or the one file
    s3.py FOLDER download BUCKET/PATH LOCAL   all objects below PATH/ into the folder LOCAL
    s3.py FOLDER clear BUCKET/PATH            removes all objects below PATH/
    s3.py FOLDER list BUCKET/PATH             prints their names after PATH/
"""
import datetime
import hashlib
import hmac
import http.client
import os
import ssl
import sys
import urllib.parse
import xml.etree.ElementTree


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Client:
    """Many requests, over one connection."""

    def __init__(self, folder):
        def read(name):
            with open(f"{folder}/{name}") as file:
                return file.read().strip()
        self.key, self.secret = read("admin/AWS_ACCESS_KEY_ID"), read("admin/AWS_SECRET_ACCESS_KEY")
        self.host = f"127.0.0.1:{read('port')}"
        context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self.http = http.client.HTTPSConnection(self.host, context=context)

    def headers(self, method, path, query, body, service):
        time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        scope = f"{time[:8]}/us-east-1/{service}/aws4_request"
        names = "host;x-amz-content-sha256;x-amz-date"
        request = f"{method}\n{path}\n{query}\nhost:{self.host}\nx-amz-content-sha256:{digest}\nx-amz-date:{time}\n\n{names}\n{digest}"
        text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = mac(key, part)
        return {"x-amz-content-sha256": digest, "x-amz-date": time, "Content-Type": "application/x-www-form-urlencoded",
                "Authorization": f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={names}, "
                                 f"Signature={mac(key, text).hex()}"}

    def ask(self, method, path, query="", body=b"", service="s3"):
        path = urllib.parse.quote(path)
        self.http.request(method, path + ("?" + query if query else ""), body=body,
                          headers=self.headers(method, path, query, body, service))
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"s3.py: {method} {path}: {answer.status} {data.decode()[:300]}")
        return data

    def names(self, path):
        bucket, _, prefix = path.partition("/")
        prefix = prefix.rstrip("/") + "/" if prefix else ""
        after = ""
        while True:
            fields = {"encoding-type": "url", "list-type": "2", "prefix": prefix, "start-after": after}
            query = "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in fields.items())
            tree = xml.etree.ElementTree.fromstring(self.ask("GET", f"/{bucket}", query).decode())
            space = tree.tag[:-len("ListBucketResult")]
            for name in tree.iter(f"{space}Key"):
                after = urllib.parse.unquote_plus(name.text)
                yield f"{bucket}/{after}"
            if tree.findtext(f"{space}IsTruncated") != "true":
                return


def main():
    folder, what, path = sys.argv[1:4]
    client, top = Client(folder), path.rstrip("/")
    if what == "upload":
        local = sys.argv[4]
        files = {top: local}
        if os.path.isdir(local):
            files = {f"{top}/{os.path.relpath(os.path.join(at, name), local)}": os.path.join(at, name)
                     for at, _, names in os.walk(local) for name in names}
        for key, name in sorted(files.items()):
            with open(name, "rb") as file:
                client.ask("PUT", f"/{key}", body=file.read())
        return
    for key in list(client.names(top)):
        if what == "clear":
            client.ask("DELETE", f"/{key}")
        elif what == "list":
            print(key[len(top) + 1:])
        else:
            name = os.path.join(sys.argv[4], key[len(top) + 1:])
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as file:
                file.write(client.ask("GET", f"/{key}"))


if __name__ == "__main__":
    main()
