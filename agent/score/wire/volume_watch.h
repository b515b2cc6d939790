/* volume_watch.h: checks that a job's volumes respond. A call on a mount whose server is gone may
 * block forever, so each check runs in a separate thread. Volumes are checked before anything is
 * opened, then watched. For coordinator and worker. Objects of a service (az://) are not checked:
 * requests have time-outs. */
#pragma once

#include "agent/job.h"

enum { VOLUME_CHECK_MS = 10000 }; /* a storage that does not respond within this time is dead */

/* UNAVAILABLE, TIMEOUT: this volume is dead. A volume that is missing or not readable counts as
 * alive, since opening it gives a better error. All checks together take at most timeout_ms. */
NODISCARD int volume_watch_check(const struct job *job, int timeout_ms, struct error *err);

struct volume_watch;

struct volume_watch_options {
    const struct job *job; /* only used by volume_watch_start, which copies */
    int every_ms, timeout_ms;
    /* Called at most once, from a separate thread: a volume has not responded for timeout_ms. A
     * volume that responds with an error is not reported, since its users get the same error. */
    void (*hangs)(void *context, const struct error *why);
    void *context;
};

NODISCARD int volume_watch_start(const struct volume_watch_options *options,
                                 struct volume_watch **ret_mounts, struct error *err);
/* Accepts NULL. Does not wait for the storage; `hangs` is not called afterwards. */
void volume_watch_free(struct volume_watch *volumes);
