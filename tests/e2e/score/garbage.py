#!/usr/bin/env python3
"""Sends a coordinator messages that no worker sends: garbage.py PORT TOKEN. Prints failures."""
import socket
import ssl
import struct
import sys

port, token = int(sys.argv[1]), sys.argv[2]
bad = 0


def connect():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=12))


def upgrade(path="/work", authorization="Bearer " + token):
    line = connect()
    line.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                  f"Authorization: {authorization}\r\n\r\n").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        data = line.recv(4096)
        if not data:
            break
        head += data
    return line, head.split(b"\r\n")[0].decode(), head.partition(b"\r\n\r\n")[2]


def frame(data, opcode=1, final=True, length=None):
    size = len(data) if length is None else length
    short = size if size < 126 else 126 if size < 65536 else 127
    head = bytes([final << 7 | opcode, 0x80 | short])
    if short == 126:
        head += struct.pack(">H", size)
    elif short == 127:
        head += struct.pack(">Q", size)
    return head + b"\0\0\0\0" + data


def until_closed(line, seen=b""):
    """The bytes until the connection or the WebSocket (its close frame: 0x88) ends."""
    try:
        while b"\x88" not in seen:
            data = line.recv(65536)
            if not data:
                return seen
            seen += data
        return seen
    except (ConnectionError, ssl.SSLError):
        return seen


def expect(name, condition, seen):
    global bad
    if not condition:
        print(f"{name}: {seen!r}")
        bad += 1


for path, authorization, status in (("/work", "Bearer wrong", "401"), ("/work", "", "401"),
                                    ("/work", "Bearer " + token + "x", "401"),
                                    ("/other", "Bearer " + token, "404")):
    line, answer, _ = upgrade(path, authorization)
    expect(f"{path} with '{authorization[:12]}'", status in answer, answer)
    line.close()

for name, data in (("no JSON", frame(b"hello")),
                   ("not UTF-8", frame(b"\xff\xfe")),
                   ("a number", frame(b"17")),
                   ("a deep tree", frame(b"[" * 5000)),
                   ("an unknown type", frame(b'{"type":"sudo"}')),
                   ("a coordinator's word", frame(b'{"type":"done"}')),
                   ("a result before hello", frame(b'{"type":"result","lease":1,"items":1,"seconds":1}')),
                   ("a path as a name", frame(b'{"type":"hello","worker":"../../x"}'))):
    line, answer, rest = upgrade()
    expect(name, "101" in answer, answer)
    line.sendall(data)
    seen = until_closed(line, rest)
    expect(name, b'"refused"' in seen, seen)

for name, data in (("a binary frame", frame(b"\0" * 10, opcode=2)),
                   ("a message of 2 MiB", frame(b" " * (2 << 20))),
                   ("fragments of 2 MiB", b"".join(frame(b" " * 65536, 0 if i else 1, False) for i in range(32))),
                   ("a length of 2^62", frame(b"", length=1 << 62)),
                   ("an opcode that is none", frame(b"x", opcode=11))):
    line, answer, rest = upgrade()
    try:
        line.sendall(data)
        line.settimeout(12)
        seen = until_closed(line, rest)
        expect(name, len(seen) < 4096, seen[:100])
    except (ConnectionError, ssl.SSLError):
        pass
    except TimeoutError:
        expect(name, name == "a length of 2^62", "still open after 12 s")

for name, data in (("raw bytes", bytes(range(256)) * 64), ("a POST", b"POST /progress HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
                   ("an endless header", b"GET / HTTP/1.1\r\nX: " + b"y" * 200000)):
    line = connect()
    try:
        line.sendall(data)
        line.settimeout(12)
        seen = until_closed(line)
        expect(name, b" 200 " not in seen, seen[:100])
    except (ConnectionError, ssl.SSLError):
        pass
    except TimeoutError:
        expect(name, False, "still open after 12 s")
sys.exit(bad > 0)
