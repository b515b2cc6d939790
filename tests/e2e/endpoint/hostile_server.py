#!/usr/bin/env python3
"""A model server that attacks who asks it, for test_endpoint_hostile.sh: the path of a request says how it is answered. Without
arguments: serves on a free port of loopback, which it prints, until it is killed. `names`: prints the paths, one a line."""
import gzip
import json
import socketserver
import sys
import time
import zlib

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWER = json.dumps({"choices": [{"message": {"role": "assistant", "content": "well"}}]}).encode()
KIB = b"x" * 1024


def zeros(mib):
    """That many MiB of zeros, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(mib)) + packer.flush()


def empty_blocks(mib):
    """A gzip stream of that many MiB that has no content, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    blocks = b"\0\0\0\xff\xff" * (1 << 18)
    out = packer.compress(gzip.compress(b"")[:10])
    return out + b"".join(packer.compress(blocks) for _ in range(mib)) + packer.flush()


def forever(head, piece, pause=0):
    """Until the other side closes; with a pause where that is a limit of time."""
    yield head
    while True:
        yield piece
        time.sleep(pause)


def slowly(head, rest):
    """A byte a second: never silent for long."""
    yield head
    for byte in rest:
        yield bytes([byte])
        time.sleep(1)


def whole(head, body):
    yield head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(head, *pieces):
    yield head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n" % len(piece) + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"


attacks = {
    "endless-header": lambda: forever(OK + b"X: ", KIB),
    "endless-headers": lambda: forever(OK, b"X-A: " + KIB + b"\r\n"),
    "endless-continues": lambda: forever(b"", b"HTTP/1.1 100 Continue\r\nX-A: " + KIB + b"\r\n\r\n"),
    "endless-status": lambda: forever(b"HTTP/1.1 200 ", KIB),
    "endless-body": lambda: forever(OK + b"\r\n", KIB),
    "endless-chunk": lambda: forever(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", KIB),
    "endless-chunk-name": lambda: forever(OK + b"Transfer-Encoding: chunked\r\n\r\n1;", KIB, 0.01),
    "endless-trailers": lambda: forever(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n", b"X-A: " + KIB + b"\r\n"),
    "endless-error": lambda: forever(b"HTTP/1.1 500 Internal\r\n\r\n", KIB, 0.01),
    "endless-old": lambda: forever(b"", KIB),  # HTTP/0.9
    "length-huge": lambda: forever(OK + b"Content-Length: 9223372036854775807\r\n\r\n", KIB),
    "length-beyond": lambda: whole(OK + b"Content-Length: 99999999999999999999999\r\n", ANSWER),
    "length-negative": lambda: whole(OK + b"Content-Length: -1\r\n", ANSWER),
    "packed-content": lambda: whole(OK + b"Content-Encoding: gzip\r\n", zeros(16)),
    "packed-transfer": lambda: chunked(OK + b"Transfer-Encoding: gzip\r\n", zeros(16)),
    "packed-twice": lambda: chunked(OK + b"Transfer-Encoding: gzip, gzip\r\n", gzip.compress(zeros(16))),
    "packed-nothing": lambda: chunked(OK + b"Transfer-Encoding: gzip, gzip, gzip\r\n", gzip.compress(empty_blocks(16))),
    "elsewhere": lambda: whole(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\n", b""),
    "file": lambda: whole(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n", b""),
    "switch": lambda: forever(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"\0" * 1024),
    "slow-header": lambda: slowly(OK, b"X: " + KIB),
    "slow-body": lambda: slowly(OK + b"\r\n", ANSWER + b" " * 1000),
    "levels": lambda: whole(OK, b"[" * (1 << 20) + b"]" * (1 << 20)),
    "lists": lambda: whole(OK, b"[" + b"[]," * (8 << 20) + b"[]]"),
    "well": lambda: whole(OK, ANSWER),
}


class Server(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            path, length = line.split()[1].decode(), 0
            while (header := self.rfile.readline()).strip():
                name, value = header.split(b":", 1)
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            name = path.strip("/")
            try:
                for piece in attacks.get(name, attacks["well"])():
                    self.wfile.write(piece)
            except OSError:  # who asked has closed
                return
            if name in attacks and name != "well":
                return


class Threads(socketserver.ThreadingTCPServer):
    daemon_threads = True


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print("\n".join(attacks))
        sys.exit()
    with Threads(("127.0.0.1", 0), Server) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
