"""Sends Open MPI 4's mpirun the message by which its own tools end it (ORTE_DAEMON_HALT_VM_CMD of odls_types.h), as
anyone who reaches its port can: halt_vm.py HOST PORT NAMESPACE, where NAMESPACE is a rank's PMIX_NAMESPACE."""
import socket
import struct
import sys

IDENT, USER, DAEMON_TAG, HALT_VM = 1, 4, 1, 19
host, port, family = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) & 0xFFFF0000


def head(kind, tag, size):
    """oob_tcp_hdr.h: origin and destination (job, process) in host order, then tag, number, size, kind."""
    names = struct.pack("=IIII", family ^ 0x70000, 0, family, 0)
    return names + struct.pack(">IIIB35x", tag, 0, size, kind)


with socket.create_connection((host, port), 5) as stranger:
    stranger.settimeout(10)
    hello = struct.pack(">H", 1) + b"4.0.0\0"
    stranger.sendall(head(IDENT, 0, len(hello)) + hello)
    if not stranger.recv(1024):
        sys.exit("mpirun does not answer")
    command = struct.pack(">iB", 1, HALT_VM)
    stranger.sendall(head(USER, DAEMON_TAG, len(command)) + command)
    try:
        stranger.recv(1024)  # the end of mpirun
    except OSError:
        pass
