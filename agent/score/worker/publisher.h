/* publisher.h: gives the files of committed mini-batches their final names (mode PerFile), in a
 * separate thread, so that scoring continues. Until then the staged outputs stay in memory, up to
 * PUBLISHER_KEPT_MAX; the rest is read from the store again. For the worker; its connection's
 * thread calls all functions except publisher_keep. */
#pragma once

#include "agent/data/parts/staged_output.h"

enum { PUBLISHER_KEPT_MAX = 64 << 20 /* bytes */ };

struct publisher;

/* wake: called from the publisher's thread when something was published, with its lock held: it
 * must not call the functions below. EXHAUSTED: no more threads. */
NODISCARD int publisher_new(struct store *output, void (*wake)(void *context), void *context,
                            struct publisher **ret_publisher, struct error *err);
/* Waits at most timeout_ms for the file that is being written. False: the thread still runs, and
 * nothing was freed; do not use the publisher again. */
bool publisher_free(struct publisher *publisher, int64_t timeout_ms);

/* Takes a lease's closed staged output; the publisher owns it from now on. Any thread. */
void publisher_keep(struct publisher *publisher, int64_t epoch, int64_t lease,
                    struct staged_output *staged);
/* The lease is committed: publishes its files. Unknown leases are ignored. What cannot be published
 * is logged and dropped: the coordinator publishes it. */
void publisher_publish(struct publisher *publisher, int64_t epoch, int64_t lease);
/* The connection is lost: drops all outputs, and what publisher_take would have returned; the
 * current coordinator publishes them. */
void publisher_forget(struct publisher *publisher);
/* True: *ret_epoch and *ret_lease are the next lease whose files are published; false: none yet. */
bool publisher_take(struct publisher *publisher, int64_t *ret_epoch, int64_t *ret_lease);
