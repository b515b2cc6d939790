#!/usr/bin/env python3
"""A model server by HTTP/2 that attacks who asks it, for test_endpoint_hostile.sh: "attack" in the body of a request says how
it is answered. `CERTIFICATE KEY`: serves on a free port of loopback, which it prints, until it is killed. `names`, `slow`: prints
the attacks that the client or a limit of size ends, and those that only a limit of time ends, one a line."""
import asyncio
import json
import ssl
import sys

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PROMISE, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
ANSWER = json.dumps({"choices": [{"message": {"role": "assistant", "content": "well"}}]}).encode()
KIB = b"x" * 1024
STATUS_200 = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def text(value):
    """A string of HPACK (RFC 7541, 5.2), as it is."""
    size = len(value)
    if size < 127:
        return bytes([size]) + value
    size, coded = size - 127, b"\x7f"
    while size >= 128:
        coded, size = coded + bytes([size % 128 + 128]), size // 128
    return coded + bytes([size]) + value


def field(name, value):
    return b"\0" + text(name) + text(value)


LARGE = field(b"x-a", KIB)
# An entry of 3,985 bytes, and 12,000 references to it: 48 MB of headers in one frame.
BOMB = b"\x40" + text(b"x-b") + text(b"y" * 3950) + b"\xbe" * 12000


def head(stream, block=STATUS_200, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def forever(start, piece):
    yield start
    while True:
        yield piece


def slowly(start, rest):
    """Byte by byte, each after the pause of a slow attack."""
    yield start
    for byte in rest:
        yield bytes([byte])


def idle_streams(stream):
    """Priorities of streams that are never opened."""
    for number in range(stream + 2, 1 << 31, 2 * 40):
        yield b"".join(frame(PRIORITY, 0, number + 2 * i, bytes(4) + b"\xff") for i in range(40))


def whole(stream, block, body=ANSWER):
    return [head(stream, block), frame(DATA, END_STREAM, stream, body)]


attacks = {
    "endless-continuation": lambda s: forever(head(s, STATUS_200, 0), frame(CONTINUATION, 0, s, LARGE)),
    "empty-continuation": lambda s: forever(head(s, STATUS_200, 0), frame(CONTINUATION, 0, s) * 100),
    "endless-continues": lambda s: forever(b"", head(s, field(b":status", b"103") + LARGE)),
    "bomb": lambda s: whole(s, STATUS_200 + BOMB),
    "bomb-behind": lambda s: [head(s), frame(DATA, 0, s, ANSWER), head(s, BOMB, END_HEADERS | END_STREAM)],
    "endless-body": lambda s: forever(head(s), frame(DATA, 0, s, KIB * 16)),
    "window": lambda s: [frame(WINDOW, 0, s, b"\x7f\xff\xff\xff") * 2],
    "window-nothing": lambda s: [frame(WINDOW, 0, s, bytes(4))],
    "promise": lambda s: [frame(PROMISE, END_HEADERS, s, (2).to_bytes(4, "big") + STATUS_200)],
    "goaway": lambda s: [frame(GOAWAY, 0, 0, bytes(8) + KIB * 15), None],
    "refused": lambda s: [frame(RESET, 0, s, (7).to_bytes(4, "big"))],
    "cancelled": lambda s: [frame(RESET, 0, s, (8).to_bytes(4, "big"))],
    "large-frame": lambda s: forever(b"\xff\xff\xff" + bytes([DATA, 0]) + s.to_bytes(4, "big"), KIB),
    "table": lambda s: whole(s, b"\x3f\xe1\xff\xff\xff\x0f" + STATUS_200),
    "reference": lambda s: whole(s, b"\xff\xff\xff\xff\x0f"),
    "no-status": lambda s: whole(s, field(b"a", b"b")),
    "bad-status": lambda s: whole(s, field(b":status", b"2x0")),
    "two-statuses": lambda s: whole(s, STATUS_200 * 2),
    "switch": lambda s: forever(b"", head(s, field(b":status", b"101"))),
    "packed-transfer": lambda s: whole(s, STATUS_200 + field(b"transfer-encoding", b"gzip")),
    "length-false": lambda s: whole(s, STATUS_200 + field(b"content-length", b"5")),
    "other-stream": lambda s: [head(s), frame(DATA, END_STREAM, s + 100, ANSWER)],
    "padding-false": lambda s: [head(s), frame(DATA, PADDED | END_STREAM, s, b"\xff" + ANSWER)],
    "garbage": lambda s: [bytes(range(256)) * 64, None],
    "old": lambda s: [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER, None],
    "settings": lambda s: [frame(SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff")],
    "cut": lambda s: [head(s), frame(DATA, 0, s, ANSWER)[:20], None],
}
slow = {
    "pings": lambda s: forever(b"", frame(PING, 0, 0, b"12345678") * 60),
    "empty-settings": lambda s: forever(b"", frame(SETTINGS, 0, 0) * 100),
    "empty-data": lambda s: forever(head(s), frame(DATA, 0, s) * 100),
    "padding": lambda s: forever(head(s), frame(DATA, PADDED, s, b"\xff" + bytes(255)) * 4),
    "idle-streams": idle_streams,
    "unknown-frames": lambda s: forever(b"", frame(0xFA, 0xFF, s, KIB)),
    "slow-header": lambda s: slowly(b"", head(s, STATUS_200 + LARGE)),
    "slow-body": lambda s: slowly(head(s), frame(DATA, 0, s, KIB)),
    "silence": lambda s: [],
}
PAUSE = 0.01


async def answer(stream, name, writer, gone):
    """Until the client takes the stream back or closes. None: the server closes."""
    try:
        for piece in slow.get(name, attacks.get(name, lambda s: whole(s, STATUS_200)))(stream):
            if piece is None or gone.is_set():
                break
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(PAUSE if name in slow else 0)
        else:
            return
        if not gone.is_set():
            writer.close()
    except OSError:
        pass


async def serve(reader, writer):
    bodies, gone, tasks = {}, {}, []
    try:
        await reader.readexactly(24)
        writer.write(frame(SETTINGS, 0, 0))
        while True:
            start = await reader.readexactly(9)
            kind, flags, stream = start[3], start[4], int.from_bytes(start[5:], "big")
            payload = await reader.readexactly(int.from_bytes(start[:3], "big"))
            if kind == SETTINGS and not flags & 1:
                writer.write(frame(SETTINGS, 1, 0))
            elif kind == RESET and stream in gone:
                gone[stream].set()
            elif kind == DATA:
                bodies[stream] = bodies.get(stream, b"") + payload
                if flags & END_STREAM:
                    gone[stream] = asyncio.Event()
                    name = json.loads(bodies.pop(stream)).get("attack")
                    tasks.append(asyncio.create_task(answer(stream, name, writer, gone[stream])))
            elif kind == HEADERS and flags & END_STREAM:  # without a body: is the server there?
                writer.write(b"".join(whole(stream, STATUS_200)))
    except (OSError, asyncio.IncompleteReadError):
        pass
    for task in tasks:
        task.cancel()
    writer.close()


async def main(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if sys.argv[1:] == ["names"]:
    print("\n".join(attacks))
elif sys.argv[1:] == ["slow"]:
    print("\n".join(slow))
else:
    asyncio.run(main(*sys.argv[1:]))
