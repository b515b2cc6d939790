#!/usr/bin/env python3
"""cutter.py FROM-IP:PORT TO-IP:PORT: forwards connections, and resets all of them at SIGUSR1."""
import selectors
import signal
import socket
import struct
import sys

pairs = {}
watcher = selectors.DefaultSelector()


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def end(one):
    for side in (one, pairs.pop(one, None)):
        if side is not None and side.fileno() >= 0:
            pairs.pop(side, None)
            watcher.unregister(side)
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            side.close()


def cut(*_):
    global is_cut
    is_cut = True


is_cut = False
signal.signal(signal.SIGUSR1, cut)
wake, waker = socket.socketpair()
wake.setblocking(False)
waker.setblocking(False)
signal.set_wakeup_fd(waker.fileno())
listener = socket.create_server(address(sys.argv[1]), reuse_port=True)
watcher.register(listener, selectors.EVENT_READ)
watcher.register(wake, selectors.EVENT_READ)
while True:
    for key, _ in watcher.select():
        one = key.fileobj
        if one is wake:
            wake.recv(64)
        elif one is listener:
            there, _ = listener.accept()
            try:
                other = socket.create_connection(address(sys.argv[2]), 5)
            except OSError:
                there.close()
                continue
            pairs[there], pairs[other] = other, there
            watcher.register(there, selectors.EVENT_READ)
            watcher.register(other, selectors.EVENT_READ)
        elif one in pairs:
            try:
                data = one.recv(4096)
                if data:
                    pairs[one].sendall(data)
                    continue
            except OSError:
                pass
            end(one)
    if is_cut:
        is_cut = False
        for one in list(pairs):
            end(one)
