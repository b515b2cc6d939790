/* confine.h: takes from this process, for good, what a decoder does not need: files, network,
 * programs, other processes. Linux: seccomp
 * (https://docs.kernel.org/userspace-api/seccomp_filter.html), Landlock
 * (https://docs.kernel.org/userspace-api/landlock.html). */
#pragma once

#include "lib/base.h"

/* What is in force. A container's runtime, or an old kernel, may refuse some. */
enum confine_part {
    CONFINE_PRIVILEGES =
        1,              /* no_new_privs, and its memory is closed to other processes of this user */
    CONFINE_LIMITS = 2, /* no new descriptors, no core file, an end to its memory */
    CONFINE_FILES = 4,  /* Landlock: no file, no TCP */
    CONFINE_CALLS = 8,  /* seccomp: the system calls of decoding only */
    CONFINE_ALL = 15,
    CONFINE_ENOUGH = 11 /* without Landlock: the filter refuses open and socket by itself */
};

/* Descriptors that are open stay usable. Threads that are made later are confined, too, so call it
 * before there are any. Never fails: returns the parts. A call that a library tries by habit (open,
 * ioctl) fails with EPERM; one that only an attacker makes (socket, execve, ptrace ...) ends the
 * process by SIGSYS. Builds with sanitizers, whose runtimes open files and map terabytes, have
 * neither the filter nor an end to memory. */
unsigned confine_enter(int64_t memory_bytes);

/* The names of the parts that `parts` lacks: "seccomp, Landlock"; the caller frees. */
char *confine_missing(unsigned parts);
/* Of this build: what confine_enter can reach where nothing is refused. */
unsigned confine_possible(void);
