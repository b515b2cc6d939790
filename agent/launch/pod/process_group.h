/* process_group.h: the processes of a pod: starts them, passes on their output line by line,
 * reports their exits with the end of their output, and stops them all. One thread, which must live
 * as long as they do; only process_group_free waits. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    PROCESS_GROUP_TERM_MS = 10000, /* between SIGTERM and SIGKILL */
    PROCESS_GROUP_WORDS_MAX = 512, /* bytes of the end of its output (output_tail.h) */
};

struct process_group;

struct process_group_end {
    int id;
    int code;       /* 128 + signal */
    bool is_memory; /* the kernel has OOM-killed in this container since the process started */
    char words[PROCESS_GROUP_WORDS_MAX];
};

struct process_group *process_group_new(void);
/* Kills what runs and waits for it. NULL is fine. */
void process_group_free(struct process_group *group);

/* words and variables: NULL-ended. INVALID: the program does not exist or cannot be run. */
NODISCARD int process_group_start(struct process_group *group, int id, const char *const *words,
                                  char **variables, struct error *err);
/* Passes on output and reaps orphans. True: a process has ended; call it again. */
bool process_group_poll(struct process_group *group, int64_t now_ms,
                        struct process_group_end *ret_end);
/* True: a process, or a child of it, is stopped (SIGSTOP): its id, and the pid of the one that is
 * stopped. */
bool process_group_find_halted(const struct process_group *group, int *ret_id, pid_t *ret_pid);
/* The kernel has OOM-killed in this container since the oldest running process started. */
bool process_group_is_short_of_memory(const struct process_group *group);
/* SIGTERM now, SIGKILL after PROCESS_GROUP_TERM_MS (by process_group_poll), also to their orphans.
 */
void process_group_stop(struct process_group *group, int64_t now_ms);
/* SIGKILL to one process and its children. */
void process_group_kill_one(struct process_group *group, int id);
/* SIGKILL to all, now. */
void process_group_kill(struct process_group *group);
size_t process_group_count(const struct process_group *group); /* processes that have not ended */
/* Lines passed on so far. */
int64_t process_group_lines(const struct process_group *group);
