#!/usr/bin/env python3
"""A fault-injecting proxy in front of a real API server, or Azurite. TLS both ways, HTTP/1.1.

    proxy.py FOLDER UPSTREAM_PORT CA CERTIFICATE KEY CLIENT_CERTIFICATE CLIENT_KEY

Listens on a free port of 127.0.0.1 with CERTIFICATE, sends requests to 127.0.0.1:UPSTREAM_PORT as the given
client, and passes on any Authorization header. It writes FOLDER/port when it listens and
FOLDER/counts (JSON: how often each fault was applied) when that changes, and reads the faults to apply
from FOLDER/faults (JSON, read again when it changes; start.sh describes its content).
"""
import asyncio
import datetime
import json
import os
import random
import re
import ssl
import sys
import time

folder, upstream_port, ca, certificate, key, client_certificate, client_key = sys.argv[1:]
chance = random.Random(int(os.environ.get("SEED", "1")))
counts = {}
LINE_MAX = 16 << 20


def count(name):
    counts[name] = counts.get(name, 0) + 1
    with open(f"{folder}/counts.new", "w") as file:
        json.dump(counts, file)
    os.rename(f"{folder}/counts.new", f"{folder}/counts")


class Faults:
    """The current FOLDER/faults."""

    rows, stamp = [], None

    def read(self):
        try:
            status = os.stat(f"{folder}/faults")
            stamp = (status.st_mtime_ns, status.st_ino)
            if stamp != self.stamp:
                with open(f"{folder}/faults") as file:
                    self.rows = json.load(file)
                self.stamp = stamp
        except FileNotFoundError:
            self.rows = []
        return self.rows

    def find(self, method, target):
        """The first row that matches the request, or {}."""
        for row in self.read():
            watch = "watch=true" in target
            if row.get("watch", watch) != watch or row.get("method", method) != method:
                continue
            if not re.search(row.get("path", ""), target):
                continue
            if row.get("times", 1) > 0 and chance.random() < row.get("share", 1.0):
                if "times" in row:
                    row["times"] -= 1
                return row
        return {}


faults = Faults()


async def stall(seconds, until_changed):
    """Waits; until_changed: at most until the faults are written again."""
    stamp, left = faults.stamp, seconds
    while left > 0:
        faults.read()
        if until_changed and faults.stamp != stamp:
            return
        await asyncio.sleep(min(left, 0.02) if until_changed else left)
        left -= 0.02 if until_changed else left


class Cut(Exception):
    pass


async def read_head(reader):
    """The lines of a message's head, as (first line, [(name, value)])."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    return first, [tuple(line.split(":", 1)) for line in lines]


def value_of(headers, name):
    return next((v.strip() for n, v in headers if n.lower() == name), None)


def head_bytes(first, headers):
    lines = [first] + [f"{name}:{value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def made_up_answer(row, method):
    status = row["status"]
    body = json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": row.get("reason", "InternalError"),
            "message": f"made up by the test's proxy: {status}",
            "code": status,
        }
    ).encode()
    body = row["body"].encode() if "body" in row else body
    headers = [("Content-Type", " application/json"), ("Content-Length", f" {len(body)}")]
    if "retryAfter" in row:
        headers.append(("Retry-After", f" {row['retryAfter']}"))
    if "date" in row:
        headers.append(("Date", f" {row['date']}"))
    head = head_bytes(f"HTTP/1.1 {status} Made up", headers)
    return head if method == "HEAD" else head + body


def set_modified(body, row):
    """A list of blobs, with the row's time for each of them, which is as long as theirs."""
    if "lastModified" not in row:
        return body
    date = b"<Last-Modified>" + row["lastModified"].encode() + b"</Last-Modified>"
    return re.sub(rb"<Last-Modified>[^<]*</Last-Modified>", date, body)


async def read_body(headers, reader):
    length = value_of(headers, "content-length")
    if length is not None:
        return await reader.readexactly(int(length))
    body, size = b"", 1
    while size:
        size = int((await reader.readline()).split(b";")[0], 16)
        body += (await reader.readexactly(size + 2))[:size]
    return body


def without_newest(body, seconds):
    """A list of objects of S3 without those of the last seconds, as a storage lists whose lists lag."""
    def is_old(found):
        date = re.search(rb"<LastModified>([^<]*)Z</LastModified>", found[0])
        then = datetime.datetime.fromisoformat(date[1].decode()).replace(tzinfo=datetime.timezone.utc)
        if time.time() - then.timestamp() > seconds:
            return found[0]
        count("hidden")
        return b""
    return re.sub(rb"<Contents>.*?</Contents>", is_old, body, flags=re.DOTALL)


async def pass_late(reader, writer, late_s):
    """Passes the pieces of a chunked body on, each late_s after it came, until its last or the end."""
    pieces, loop = asyncio.Queue(), asyncio.get_running_loop()

    async def read():
        try:
            while True:
                size_line = await reader.readline()
                size = int(size_line.split(b";")[0], 16)
                pieces.put_nowait((loop.time() + late_s, size, size_line + await reader.readexactly(size + 2)))
                if size == 0:
                    return
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pieces.put_nowait(None)

    reading = asyncio.create_task(read())
    try:
        while piece := await pieces.get():
            due, size, data = piece
            await asyncio.sleep(max(0.0, due - loop.time()))
            writer.write(data)
            await writer.drain()
            if size == 0:
                return True
        raise Cut
    finally:
        reading.cancel()


async def pass_body(headers, reader, writer, row):
    """Passes an answer's body on; returns whether the connection can be used again."""
    length = value_of(headers, "content-length")
    if length is not None:
        body = set_modified(await reader.readexactly(int(length)), row)
        if "cutInside" in row and len(body) > 1:
            writer.write(body[: len(body) // 2])
            await writer.drain()
            count("inside")
            raise Cut
        writer.write(body)
        return True
    if (value_of(headers, "transfer-encoding") or "").lower() != "chunked":
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        return False
    if "lateSeconds" in row:
        count("late")
        return await pass_late(reader, writer, row["lateSeconds"])
    lines_left = row.get("cutAfterLines")
    while True:
        size_line = await reader.readline()
        size = int(size_line.split(b";")[0], 16)
        data = await reader.readexactly(size + 2)
        data = set_modified(data, row)
        if "cutInside" in row:
            count("inside")
            raise Cut
        if lines_left is not None and data.count(b"\n") > 1:
            lines_left -= 1
            if lines_left <= 0:  # sends half of it, then nothing more
                half = data[: max(size // 2, 1)]
                writer.write(b"%x\r\n%s\r\n" % (len(half), half))
                await writer.drain()
                count("cut")
                raise Cut
        writer.write(size_line + data)
        await writer.drain()
        if size == 0:
            return True


async def one_request(reader, writer, upstream):
    first, headers = await read_head(reader)
    method, target, _ = first.split(" ", 2)
    body = await reader.readexactly(int(value_of(headers, "content-length") or 0))
    counts["requests"] = counts.get("requests", 0) + 1
    row = faults.find(method, target)
    if "stallSeconds" in row:
        count("stall")
        await stall(row["stallSeconds"], row.get("untilChanged"))
    if "status" in row:
        count(str(row["status"]))
        writer.write(made_up_answer(row, method))
        await writer.drain()
        return True
    if upstream["writer"] is None:
        upstream["reader"], upstream["writer"] = await asyncio.open_connection(
            "127.0.0.1", int(upstream_port), ssl=client_context, limit=LINE_MAX
        )
    up_reader, up_writer = upstream["reader"], upstream["writer"]
    if row.get("without"):
        headers = [(n, v) for n, v in headers if n.lower() != row["without"]]
        count("without")
    up_writer.write(head_bytes(first, headers) + body)
    await up_writer.drain()
    if row.get("cutBefore"):  # the server has handled it, the answer is lost
        await read_head(up_reader)
        count("lost")
        raise Cut
    first, headers = await read_head(up_reader)
    if "lastModified" in row:
        date = f" {row['lastModified']}"
        headers = [(n, date if n.lower() == "last-modified" else v) for n, v in headers]
    status = int(first.split(" ")[1])
    if "hideNewest" in row and status == 200:
        body = without_newest(await read_body(headers, up_reader), row["hideNewest"])
        headers = [(n, v) for n, v in headers if n.lower() not in ("content-length", "transfer-encoding")]
        writer.write(head_bytes(first, headers + [("Content-Length", f" {len(body)}")]) + body)
        await writer.drain()
        return True
    writer.write(head_bytes(first, headers))
    again = True
    if method != "HEAD" and status not in (204, 304):
        again = await pass_body(headers, up_reader, writer, row)
    await writer.drain()
    return again


async def serve(reader, writer):
    upstream = {"reader": None, "writer": None}
    try:
        while await one_request(reader, writer, upstream):
            pass
    except (Cut, OSError, ValueError, asyncio.IncompleteReadError):
        pass
    for end in (writer, upstream["writer"]):
        if end is not None:
            end.transport.abort()


async def main():
    server = await asyncio.start_server(
        serve, "127.0.0.1", 0, ssl=server_context, limit=LINE_MAX, backlog=1024
    )
    with open(f"{folder}/port.new", "w") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(f"{folder}/port.new", f"{folder}/port")
    await server.serve_forever()


server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server_context.load_cert_chain(certificate, key)
client_context = ssl.create_default_context(cafile=ca)
client_context.check_hostname = False
client_context.load_cert_chain(client_certificate, client_key)
asyncio.run(main())
