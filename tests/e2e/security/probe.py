#!/usr/bin/env python3
"""probe.py http|https HOST PORT COUNT: asks for /healthz COUNT times, one after the other, each on a connection of its own, and
prints "CODE MILLISECONDS" of each, from the first packet to the last byte: without the start of a program."""
import socket
import ssl
import sys
import time

scheme, host, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
context = ssl._create_unverified_context()
for _ in range(count):
    began, said = time.perf_counter(), b""
    try:
        peer = socket.create_connection((host, port), 5)
        peer.settimeout(5)
        if scheme == "https":
            peer = context.wrap_socket(peer)
        peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        while piece := peer.recv(4096):
            said += piece
        peer.close()
    except OSError:
        pass
    print(said[9:12].decode() or "000", round(1000 * (time.perf_counter() - began), 1), flush=True)
    time.sleep(0.02)
