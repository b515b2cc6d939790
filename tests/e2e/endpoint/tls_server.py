#!/usr/bin/env python3
"""A model server by TLS, and a proxy in front of it, for test_endpoint_tls.sh.

    tls_server.py CERTIFICATE KEY

Prints the port of the server and that of the proxy. The server answers each POST with a chat completion that
repeats the header X-Wanted of the request, and logs on stderr how many each connection had ("posts N"). The proxy knows CONNECT alone; it leads to the server, whatever name it is
asked for, and answers 403 to all else."""
import asyncio
import json
import ssl
import sys

certificate, key = sys.argv[1:]


async def read_head(reader):
    """The first line, and the headers with names in small letters; None at the end."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None, {}
    return lines[0], {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}


async def answer(reader, writer):
    posts = 0
    while True:
        first, headers = await read_head(reader)
        if not first:
            break
        posts += first.startswith("POST ")
        await reader.readexactly(int(headers.get("content-length", 0)))
        message = {"role": "assistant", "content": headers.get("x-wanted", "nothing")}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
    print(f"posts {posts}", file=sys.stderr, flush=True)
    writer.close()


async def pass_on(reader, writer):
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def lead(reader, writer):
    first, _ = await read_head(reader)
    if not (first or "").startswith("CONNECT "):
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        return
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    print(first, file=sys.stderr, flush=True)
    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
    await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer), return_exceptions=True)


async def main():
    global port
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    proxy = await asyncio.start_server(lead, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(port, proxy.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
