#!/usr/bin/env python3
"""A name server: every name below windlass.test is 127.0.0.1, far.windlass.test 10.0.0.1 as well, other names do not exist.

    names.py FOLDER      listens on a free UDP port of 127.0.0.1, which it writes to FOLDER/names.port
"""
import os
import socket
import sys

folder = sys.argv[1]
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
with open(f"{folder}/names.port.new", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(f"{folder}/names.port.new", f"{folder}/names.port")
while True:
    question, sender = server.recvfrom(512)
    end = question.index(b"\0", 12) + 5
    is_ours = question[12:end - 4].lower().endswith(b"\x08windlass\x04test\0")
    is_ipv4 = question[end - 4:end - 2] == b"\0\x01"
    addresses = [b"\x7f\0\0\x01", b"\x0a\0\0\x01"][:2 if question[12:end].lower().startswith(b"\x03far") else 1]
    records = [b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04" + address for address in addresses if is_ours and is_ipv4]
    head = question[:2] + (b"\x81\x80" if is_ours else b"\x81\x83") + b"\0\x01"
    counts = bytes([0, len(records)]) + b"\0\0\0\0"
    server.sendto(head + counts + question[12:end] + b"".join(records), sender)
