/* command_process.h: one life of a user's program: its own process group, pipes for its stdin,
 * stdout and stderr, a known environment, and an end that takes its children along. One thread,
 * which must live as long as the program: the kernel kills it when the thread that started it ends.
 */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

struct command_process {
    pid_t pid;           /* 0: none */
    int fd;              /* a pidfd */
    int in, out, errors; /* its stdin, stdout, stderr: our ends, non-blocking; -1: closed */
    char mark[80];       /* the variable by which its children are known */
};

struct command_environment {
    const char *const *variables; /* "NAME=VALUE", NULL-ended: over all others; NULL: none */
    const char *job, *worker;
    int slot, gpus; /* gpus 0: CUDA_VISIBLE_DEVICES stays as it is */
};

/* The environment of a program: ours without WINDLASS_ variables (the token is one of them), then
 * WINDLASS_JOB, _WORKER, _SLOT, CUDA_VISIBLE_DEVICES (slot modulo gpus; where ours lists devices,
 * one of these), then variables. The caller frees with command_environment_free. */
char **command_environment_new(const struct command_environment *environment);
void command_environment_free(char **variables);

/* words: NULL-ended, the first is looked for in the PATH of `variables` unless it has a slash. From
 * here on this process adopts orphans (PR_SET_CHILD_SUBREAPER). INVALID: no such program, or it
 * cannot be run. */
NODISCARD int command_process_start(const char *const *words, char **variables,
                                    struct command_process *ret_process, struct error *err);
/* Kills what is left of it (the group, and whoever of its children has left the group), closes the
 * pipes. Safe for one that has ended, or never was. */
void command_process_kill(struct command_process *process);
/* Kills the leader and its group alone, and waits for the leader: its status as of waitpid, 0 when
 * there is none any more. The pipes stay, for its last words. */
int command_process_end(struct command_process *process);
