#!/usr/bin/env python3
"""What tests need of an account besides the store's own requests; keys come from FOLDER/accounts.

    az.py FOLDER container ACCOUNT NAME               makes a container; one that is there is fine
    az.py FOLDER sas ACCOUNT CONTAINER RIGHTS SECONDS prints a SAS of that container
    az.py FOLDER put ACCOUNT PATH TEXT                makes a blob of any name
"""
import base64
import datetime
import hashlib
import hmac
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

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
