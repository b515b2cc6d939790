#!/usr/bin/env python3
"""Requests to an account that tests need and stores do not make; keys come from FOLDER/accounts.

    az.py FOLDER container ACCOUNT NAME               makes a container; one that exists is kept
    az.py FOLDER sas ACCOUNT CONTAINER RIGHTS SECONDS prints a SAS of that container
    az.py FOLDER put ACCOUNT PATH TEXT                makes a blob of any name
    az.py FOLDER folder ACCOUNT PATH                  makes the blob that represents a folder
    az.py FOLDER upload ACCOUNT PATH LOCAL            all files below the folder LOCAL, or the one file
    az.py FOLDER download ACCOUNT PATH LOCAL          all blobs below PATH/ into the folder LOCAL
    az.py FOLDER clear ACCOUNT PATH                   removes all blobs below PATH/
    az.py FOLDER list ACCOUNT PATH                    prints their names after PATH/
    az.py FOLDER get ACCOUNT PATH                     prints a blob
    az.py FOLDER remove ACCOUNT PATH...               removes blobs
    az.py FOLDER names ACCOUNT PATH                   makes a blob below PATH/ for each line of stdin, a name in JSON;
                                                      its content is the name
"""
import base64
import datetime
import hashlib
import hmac
import http.client
import json
import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

VERSION = "2021-12-02"
folder = sys.argv[1]


def key_of(account):
    with open(f"{folder}/accounts") as file:
        rows = dict(row.split(":", 1) for row in file.read().strip().split(";"))
    return base64.b64decode(rows[account].split(":")[0])


def sign(account, lines):
    mac = hmac.new(key_of(account), "\n".join(lines).encode(), hashlib.sha256)
    return base64.b64encode(mac.digest()).decode()


def until(seconds):
    end = datetime.datetime.utcnow() + datetime.timedelta(seconds=seconds)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def account_sas(account):
    end = until(600)
    fields = [account, "rwdlac", "b", "sco", "", end, "", "https", VERSION, "", ""]
    query = {"sv": VERSION, "ss": "b", "srt": "sco", "sp": "rwdlac", "se": end, "spr": "https"}
    return urllib.parse.urlencode({**query, "sig": sign(account, fields)})


def container_sas(account, container, rights, seconds):
    end = until(seconds)
    fields = [rights, "", end, f"/blob/{account}/{container}", "", "", "https", VERSION, "c"]
    query = {"sv": VERSION, "sr": "c", "sp": rights, "se": end, "spr": "https"}
    return urllib.parse.urlencode({**query, "sig": sign(account, fields + [""] * 7)})


def send(account, path, query, body=b"", headers=None):
    with open(f"{folder}/port") as file:
        port = file.read().strip()
    url = f"https://127.0.0.1:{port}/{account}/{path}?{query}{account_sas(account)}"
    request = urllib.request.Request(url, data=body, method="PUT", headers=headers or {})
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    urllib.request.urlopen(request, context=context).read()


class Connection:
    """Many requests to one account, over one connection."""

    def __init__(self, account):
        with open(f"{folder}/port") as file:
            port = int(file.read())
        context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self.http = http.client.HTTPSConnection("127.0.0.1", port, context=context)
        self.account, self.sas = account, account_sas(account)

    def ask(self, method, path, query="", body=None, headers=None):
        url = f"/{self.account}/{urllib.parse.quote(path)}?{query}{self.sas}"
        self.http.request(method, url, body=body, headers=headers or {})
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"az.py: {method} {path}: {answer.status}")
        return data

    def names(self, path):
        container, prefix = (path.rstrip("/") + "/").split("/", 1)
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list", "prefix": prefix, "marker": marker}
            page = self.ask("GET", container, urllib.parse.urlencode(query) + "&")
            tree = xml.etree.ElementTree.fromstring(page.decode("utf-8-sig"))
            for name in tree.iter("Name"):
                yield f"{container}/{name.text}"
            marker = tree.findtext("NextMarker") or ""
            if not marker:
                return


def upload(account, path, local):
    connection = Connection(account)
    files = {path: local}
    if os.path.isdir(local):
        files = {f"{path}/{os.path.relpath(os.path.join(at, name), local)}": os.path.join(at, name)
                 for at, _, names in os.walk(local) for name in names}
    for blob, name in sorted(files.items()):
        with open(name, "rb") as file:
            connection.ask("PUT", blob, body=file.read(), headers={"x-ms-blob-type": "BlockBlob"})


def download(account, path, local):
    connection = Connection(account)
    for blob in list(connection.names(path)):
        name = os.path.join(local, blob[len(path.rstrip("/")) + 1:])
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(connection.ask("GET", blob))


what, account = sys.argv[2:4]
if what == "container":
    try:
        send(account, sys.argv[4], "restype=container&")
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
elif what == "sas":
    print(container_sas(account, sys.argv[4], sys.argv[5], float(sys.argv[6])))
elif what == "put":
    send(account, urllib.parse.quote(sys.argv[4]), "", sys.argv[5].encode(),
         {"x-ms-blob-type": "BlockBlob"})
elif what == "folder":
    send(account, urllib.parse.quote(sys.argv[4]), "", b"",
         {"x-ms-blob-type": "BlockBlob", "x-ms-meta-hdi_isfolder": "true"})
elif what == "upload":
    upload(account, sys.argv[4], sys.argv[5])
elif what == "download":
    download(account, sys.argv[4], sys.argv[5])
elif what == "clear":
    connection = Connection(account)
    for blob in list(connection.names(sys.argv[4])):
        connection.ask("DELETE", blob)
elif what == "get":
    sys.stdout.buffer.write(Connection(account).ask("GET", sys.argv[4]))
elif what == "remove":
    connection = Connection(account)
    for blob in sys.argv[4:]:
        connection.ask("DELETE", blob)
elif what == "names":
    connection = Connection(account)
    for name in map(json.loads, sys.stdin):
        connection.ask("PUT", f"{sys.argv[4]}/{name}", body=name.encode(),
                       headers={"x-ms-blob-type": "BlockBlob"})
elif what == "list":
    for blob in Connection(account).names(sys.argv[4]):
        print(blob[len(sys.argv[4].rstrip("/")) + 1:])
