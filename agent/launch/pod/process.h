/* process.h: runs one program of the user (a scorer, a rank): with a process group and an
 * environment of its own, and pipes for its stdin, stdout and stderr. When it ends, its descendants
 * are killed. One thread, which must live as long as the program: the kernel kills the program when
 * the thread that started it ends. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum { PROCESS_STAT_MAX = 1024 };

struct process {
    pid_t pid;           /* 0: none */
    int fd;              /* a pidfd */
    int in, out, errors; /* our ends of its stdin, stdout, stderr; non-blocking; -1: closed */
    char mark[80];       /* a variable in its environment by which descendants are found */
};

/* words (the program and its arguments) and variables ("NAME=VALUE"): NULL-ended. A program without
 * a slash is looked up in the PATH of `variables`. Makes this process the reaper of orphans
 * (PR_SET_CHILD_SUBREAPER). INVALID: the program does not exist or cannot be run. */
NODISCARD int process_start(const char *const *words, char **variables, struct process *ret_process,
                            struct error *err);
/* Kills what is left of it (its group, and descendants outside the group) and closes the pipes.
 * Safe for a process that has ended or never started. */
void process_kill(struct process *process);
/* The fields of /proc/PID/stat from the third on, the state (proc_pid_stat(5)), in `text`; NULL:
 * there is no such process. */
const char *process_stat(pid_t pid, char text[static PROCESS_STAT_MAX]);
/* The pid of a suspended process (SIGSTOP, SIGTTIN) among it and its descendants; 0: none. */
pid_t process_find_suspended(const struct process *process);
/* Kills the program and its group, but no descendant outside the group, and waits for the program.
 * Returns its wait status as waitpid does; 0: it was already gone. The pipes stay open, so that the
 * rest of its output can be read. */
int process_end(struct process *process);
