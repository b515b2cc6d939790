/* process_group.h: the processes of a pod: started with an environment, their output passed on line
 * by line, their ends noticed with what they said last, and all of them ended. One thread, which
 * lives as long as they do; nothing here waits but the end of ends. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    PROCESS_GROUP_TERM_MS = 10000, /* between SIGTERM and SIGKILL */
    PROCESS_GROUP_WORDS_MAX = 512, /* bytes of what one said last: five lines at most, as one */
};

struct process_group;

struct process_group_end {
    int id;
    int code;       /* 128 + signal */
    bool is_memory; /* the kernel has killed in this container for want of memory since it began */
    char words[PROCESS_GROUP_WORDS_MAX];
};

struct process_group *process_group_new(void);
/* Kills all that runs, and waits for it. NULL is fine. */
void process_group_free(struct process_group *group);

/* words and variables: NULL-ended. INVALID: no such program, or it cannot be run. */
NODISCARD int process_group_start(struct process_group *group, int id, const char *const *words,
                                  char **variables, struct error *err);
/* Passes on output, reaps orphans. True: one has ended; ask again. */
bool process_group_poll(struct process_group *group, int64_t now_ms,
                        struct process_group_end *ret_end);
/* True: one is stopped (SIGSTOP), or what it has started is: its id, and that process. */
bool process_group_find_halted(const struct process_group *group, int *ret_id, pid_t *ret_pid);
/* The kernel has killed in this container for want of memory since the first of those that run now
 * began. */
bool process_group_is_short_of_memory(const struct process_group *group);
/* SIGTERM now, SIGKILL in PROCESS_GROUP_TERM_MS (process_group_poll), also to what they left
 * behind. */
void process_group_stop(struct process_group *group, int64_t now_ms);
/* SIGKILL to that one and its group. */
void process_group_kill_one(struct process_group *group, int id);
/* SIGKILL now. */
void process_group_kill(struct process_group *group);
size_t process_group_count(const struct process_group *group); /* that have not ended */
/* Lines that were passed on so far. */
int64_t process_group_lines(const struct process_group *group);
