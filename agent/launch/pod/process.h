/* process.h: one life of a user's program (a scorer, a rank): its own process group, pipes for its
 * stdin, stdout and stderr, a known environment, and an end that takes its children along. One
 * thread, which must live as long as the program: the kernel kills it when the thread that started
 * it ends. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

struct process {
    pid_t pid;           /* 0: none */
    int fd;              /* a pidfd */
    int in, out, errors; /* its stdin, stdout, stderr: our ends, non-blocking; -1: closed */
    char mark[80];       /* the variable by which its children are known */
};

/* words: NULL-ended, the first is looked for in the PATH of `variables` unless it has a slash. From
 * here on this process adopts orphans (PR_SET_CHILD_SUBREAPER). INVALID: no such program, or it
 * cannot be run. */
NODISCARD int process_start(const char *const *words, char **variables, struct process *ret_process,
                            struct error *err);
/* Kills what is left of it (the group, and children that have left the group) and closes the pipes.
 * Safe for a process that has ended or never started. */
void process_kill(struct process *process);
/* A process of it that is stopped (SIGSTOP, a tty's); 0: none. */
pid_t process_find_halted(const struct process *process);
/* Kills the leader and its group alone, and waits for the leader: its status as of waitpid, 0 when
 * there is none any more. The pipes stay open, for the end of its output. */
int process_end(struct process *process);
