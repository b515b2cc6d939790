/* local_logs.h: the logs that `windlass run` left in its folder, one file per pod. */
#pragma once

#include "lib/error.h"

struct local_logs_choice {
    const char *name; /* of the job; NULL: any */
    bool coordinator, previous;
    int64_t worker, tail; /* -1: all */
};

/* Prints the logs, each line with its pod. Fails with INVALID when the folder has no logs of that
 * job. */
NODISCARD int local_logs_print(const char *folder, const struct local_logs_choice *choice,
                               struct error *err);
