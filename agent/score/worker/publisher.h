/* publisher.h: gives the files of committed mini-batches their final names, in a thread of its own,
 * so that scoring goes on. What the worker made stays in memory until then, as long as it is not
 * too much; the rest is read from the store again. For the worker; its connection's thread calls
 * all but publisher_keep. */
#pragma once

#include "agent/data/parts/staged_output.h"

enum { PUBLISHER_KEPT_MAX = 64 << 20 /* bytes */ };

struct publisher;

/* wake: from the thread, when something was published. */
NODISCARD int publisher_new(struct store *output, void (*wake)(void *context), void *context,
                            struct publisher **ret_publisher, struct error *err);
/* Waits for the file that is being written, at most timeout_ms. False: the thread is left behind,
 * and nothing was freed. */
bool publisher_free(struct publisher *publisher, int64_t timeout_ms);

/* A lease's staged output, closed; owned from here on. Any thread. */
void publisher_keep(struct publisher *publisher, int64_t epoch, int64_t lease,
                    struct staged_output *staged_output_new);
/* It is committed. What is not known is ignored. */
void publisher_publish(struct publisher *publisher, int64_t epoch, int64_t lease);
/* The connection is lost: the current coordinator publishes what is left. */
void publisher_forget(struct publisher *publisher);
/* The next lease whose files are there: true, or false until there is one. */
bool publisher_take(struct publisher *publisher, int64_t *ret_epoch, int64_t *ret_lease);
