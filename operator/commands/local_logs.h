/* local_logs.h: the logs that `windlass run` left in its folder, one file per pod. */
#pragma once

#include "lib/error.h"

struct local_logs_choice {
    const char *name; /* of the job; NULL: any */
    bool hub;         /* only the hub's */
    bool previous;    /* also those of earlier attempts: pods that were replaced */
    bool is_raw;      /* print the bytes unchanged; else as lib/text/shown.h makes them */
    int64_t worker;   /* only this worker's; -1: all */
    int64_t tail;     /* the last lines of each log; -1: all */
};

/* Prints the logs, each line with its pod. Fails with INVALID when the folder has no logs of that
 * job. */
NODISCARD int local_logs_print(const char *folder, const struct local_logs_choice *choice,
                               struct error *err);
/* Prints each log from its beginning (or its last lines), and what is added to it and to new ones,
 * as long as goes_on says so, which may wait. */
typedef bool local_logs_goes_on(void *context);
NODISCARD int local_logs_follow(const char *folder, const struct local_logs_choice *choice,
                                local_logs_goes_on *goes_on, void *context, struct error *err);
/* Prints "[worker-3] text" to standard output, of a local log or one of a cluster, as
 * lib/text/shown.h makes it, into a pipe too, which often ends in a terminal. is_raw: the bytes
 * as they are. */
void local_logs_line(const char *pod, const char *text, size_t size, bool is_raw);
/* The files of these logs (the choice's `tail` and `is_raw` do not matter): each with its pod's
 * name without the job's. Fails as local_logs_print. */
typedef void local_logs_seen(void *context, const char *pod, const char *path);
NODISCARD int local_logs_find(const char *folder, const struct local_logs_choice *choice,
                              local_logs_seen *seen, void *context, struct error *err);
