/* crew.h: the processes of a pod: started with an environment, their output passed on line by line,
 * their ends noticed with what they said last, and all of them ended. One thread, which lives as
 * long as they do; nothing here waits but the end of ends. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    CREW_TERM_MS = 10000, /* between SIGTERM and SIGKILL */
    CREW_WORDS_MAX = 512, /* bytes of what one said last: five lines at most, as one */
};

struct crew;

struct crew_end {
    int id;
    int code;       /* 128 + signal */
    bool is_memory; /* the kernel has killed in this container for want of memory since it began */
    char words[CREW_WORDS_MAX];
};

struct crew *crew_new(void);
/* Kills all that runs, and waits for it. NULL is fine. */
void crew_free(struct crew *crew);

/* words and variables: NULL-ended. INVALID: no such program, or it cannot be run. */
NODISCARD int crew_start(struct crew *crew, int id, const char *const *words, char **variables,
                         struct error *err);
/* Passes on output, reaps orphans. True: one has ended; ask again. */
bool crew_look(struct crew *crew, int64_t now_ms, struct crew_end *ret_end);
/* True: one is stopped (SIGSTOP), or what it has started is: its id, and that process. */
bool crew_find_halted(const struct crew *crew, int *ret_id, pid_t *ret_pid);
/* The kernel has killed in this container for want of memory since the first of those that run now
 * began. */
bool crew_is_short_of_memory(const struct crew *crew);
/* SIGTERM now, SIGKILL in CREW_TERM_MS (crew_look), also to what they left behind. */
void crew_stop(struct crew *crew, int64_t now_ms);
/* SIGKILL to that one and its group. */
void crew_kill_one(struct crew *crew, int id);
/* SIGKILL now. */
void crew_kill(struct crew *crew);
size_t crew_count(const struct crew *crew); /* that have not ended */
/* Lines that were passed on so far. */
int64_t crew_lines(const struct crew *crew);
