"""hub_attacks.py HOST PORT ADDRESS: what a stranger says to a server over TLS (PORT 8443) or plainly, from ADDRESS. Prints one
line for each attack: "name: the status lines that came back, or closed"."""
import base64
import os
import socket
import ssl
import sys

host, port, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE


def connect():
    peer = socket.create_connection((host, port), 20, (source, 0))
    peer.settimeout(30)
    return context.wrap_socket(peer) if port == 8443 else peer


def attack(name, data, end=False):
    """Sends it and reads until the server closes, says nothing more, or 4 answers came."""
    said = b""
    for _ in range(20):  # a full table may close a newcomer: once more
        try:
            peer = connect()
            peer.sendall(data)
            if end:
                peer.shutdown(socket.SHUT_WR)
            peer.settimeout(3)
            while len(said) < 65536:
                piece = peer.recv(4096)
                if not piece:
                    break
                said += piece
        except OSError:
            pass
        if said or not data.endswith(b"\r\n\r\n"):
            break
    lines = [line.decode("latin-1") for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    print("%s: %s" % (name, ", ".join(lines) or "closed"), flush=True)


def get(path, *headers):
    return ("GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (path, "".join(h + "\r\n" for h in headers))).encode()


def socket_to(path, *headers):
    key = base64.b64encode(os.urandom(16)).decode()
    return get(path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key, *headers)


hidden = get("/progress").decode()
attack("a WebSocket without a token", socket_to("/gang"))
attack("a WebSocket with another job's token", socket_to("/gang", "Authorization: Bearer another-jobs-token"))
attack("a WebSocket with an empty token", socket_to("/gang", "Authorization: Bearer "))
attack("two tokens", socket_to("/gang", "Authorization: Bearer x", "Authorization: Bearer y"))
attack("the other kind's WebSocket", socket_to("/work", "Authorization: Bearer x"))
attack("a hidden request behind Content-Length and chunks", get("/healthz", "Content-Length: 4", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + hidden.encode())
attack("a hidden request behind two lengths", get("/healthz", "Content-Length: 0", "Content-Length: %d" % len(hidden)) + hidden.encode())
attack("a hidden request in a body", get("/healthz", "Content-Length: %d" % len(hidden)) + hidden.encode())
attack("a folded header", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\r\n Windlass-Read-Token: 00ff\r\n\r\n")
attack("lines that end with LF alone", b"GET /progress HTTP/1.1\nHost: a\nWindlass-Read-Token: \n\n")
attack("a path that goes up", get("/healthz/../progress"))
attack("a path in percent signs", get("/%70rogress"))
attack("a whole URL", get("http://a/progress"))
attack("a null byte in the path", b"GET /progress\0 HTTP/1.1\r\nHost: a\r\n\r\n")
attack("a POST", b"POST /progress HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
attack("a header of 64 KiB", get("/healthz", "X: " + "x" * 65536))
attack("2,000 headers", get("/healthz", *("X%d: y" % i for i in range(2000))))
attack("frames of 2^63 bytes behind a WebSocket", socket_to("/gang") + b"\x82\xff\x7f" + b"\xff" * 7 + bytes(100000))
attack("a body of 100 GB", b"POST /progress HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000000\r\n\r\n" + bytes(4000000))
attack("chunks without end", b"POST /progress HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 500000)
attack("half a request", b"GET /healthz HTTP/1.1\r\nHo", end=port != 8443)
attack("HTTP/2 without a word", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 64)
attack("HTTP/2 by an upgrade", get("/healthz", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"))
