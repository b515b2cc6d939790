#!/usr/bin/env python3
"""flood.py HOST PORT COUNT ADDRESS...: opens COUNT connections from these addresses in turn, without a token, and keeps
those open that the server lets open, until standard input ends. Of four: one is silent, one sends half a TLS record, one
makes the TLS handshake and is silent then, one sends garbage. The last line: opened, refused, open at the end."""
import selectors
import socket
import ssl
import sys

host, port, count, sources = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
HALF_RECORD = bytes.fromhex("160301020001000200fc0303")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
ready = selectors.DefaultSelector()
ready.register(sys.stdin.fileno(), selectors.EVENT_READ, "end")
opened = refused = open_now = 0
over = False


def close(peer):
    global open_now, refused
    ready.unregister(peer)
    peer.close()
    open_now -= 1
    refused += 1


def look(seconds):
    """Closes what the server has closed."""
    global over
    for key, _ in ready.select(seconds):
        if key.data == "end":
            over = True
            continue
        try:
            if key.fileobj.recv(4096) == b"":
                close(key.fileobj)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            close(key.fileobj)


for i in range(count):
    if over:
        break
    peer = socket.socket()
    peer.settimeout(5)
    try:
        peer.bind((sources[i % len(sources)], 0))
        peer.connect((host, port))
        peer.setblocking(False)
        if i % 4 == 1:
            peer.send(HALF_RECORD)
        elif i % 4 == 2:
            peer = context.wrap_socket(peer, do_handshake_on_connect=False)
            try:
                peer.do_handshake()
            except ssl.SSLWantReadError:
                pass
        elif i % 4 == 3:
            peer.send(b"GET / HTTP/1.1\r\nX: " + b"x" * 1000)
        ready.register(peer, selectors.EVENT_READ, "peer")
        open_now += 1
    except OSError:
        refused += 1
        peer.close()
    opened += 1
    look(0)
for _ in range(20):
    look(0.1)
print(f"# {opened} tried, {refused} refused, {open_now} open", flush=True)
while not over:
    look(1)
