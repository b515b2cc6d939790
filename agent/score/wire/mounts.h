/* mounts.h: checks that a job's volumes answer. A call on a mount whose server is gone may block
 * for ever, so each check has a thread of its own. Volumes are checked before anything is opened,
 * then watched. For coordinator and worker. az:// is not checked: its requests have time-outs. */
#pragma once

#include "agent/job.h"

enum { MOUNTS_TRY_MS = 10000 }; /* a storage that does not answer within this is dead */

/* UNAVAILABLE, TIMEOUT: this volume is dead. A volume that is missing or may not be read is alive:
 * opening it gives the better error. All checks together take at most timeout_ms. */
NODISCARD int mounts_try(const struct job *job, int timeout_ms, struct error *err);

struct mounts;

struct mounts_options {
    const struct job *job; /* what is needed of it is copied */
    int every_ms, timeout_ms;
    /* Called at most once, from a thread of its own: a volume has not answered for timeout_ms. One
     * that answers with an error is not reported: its users get the same error. */
    void (*hangs)(void *context, const struct error *why);
    void *context;
};

NODISCARD int mounts_watch(const struct mounts_options *options, struct mounts **ret_mounts,
                           struct error *err);
/* NULL is fine. Does not wait for the storage; `hangs` is not called any more. */
void mounts_free(struct mounts *mounts);
