/* mounts.h: do the volumes that a job names answer? On a mount whose server is gone a call may wait
 * for ever, and only who asks from a thread of its own notices. Asked before anything is opened and
 * before work is taken, and watched from then on. For coordinator and worker. az:// is not asked:
 * its requests end by themselves. */
#pragma once

#include "agent/job.h"

enum { MOUNTS_TRY_MS = 10000 }; /* a storage that does not answer so long is dead */

/* UNAVAILABLE, TIMEOUT: this one is dead. A volume that is not there, or may not be read, is alive:
 * who opens it says it better. All together take no longer than timeout_ms. */
NODISCARD int mounts_try(const struct job *job, int timeout_ms, struct error *err);

struct mounts;

struct mounts_options {
    const struct job *job; /* what is needed of it is copied */
    int every_ms, timeout_ms;
    /* From a thread of ours, at most once: one has not answered for timeout_ms. One that answers
     * with an error is not told: who works on it gets the same. */
    void (*hangs)(void *context, const struct error *why);
    void *context;
};

NODISCARD int mounts_watch(const struct mounts_options *options, struct mounts **ret_mounts,
                           struct error *err);
/* NULL is fine. Waits for no storage; nothing is told from then on. */
void mounts_free(struct mounts *mounts);
