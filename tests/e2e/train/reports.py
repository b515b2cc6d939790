#!/usr/bin/env python3
"""reports.py SOCKET FILE: answers a trainer's reports as the agent of its pod does (agent/launch/pod/agent_socket.c), and
adds their lines to FILE."""
import socket
import sys

server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(64)
with open(sys.argv[2], "a", encoding="utf-8") as out:
    while True:
        client, _ = server.accept()
        request = b""
        while not request.endswith(b"\0"):
            piece = client.recv(1 << 16)
            if not piece: # it was killed
                break
            request += piece
        else:
            head, _, lines = request[:-1].partition(b"\n")
            assert head.startswith(b"report "), head
            out.write(lines.decode())
            out.flush()
            client.sendall(b"0\n")
        client.close()
