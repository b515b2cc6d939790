/* proof_thread.h: runs a check of storage, which may hang, in a separate thread. It is not waited
 * for: the owner asks whether it is done, and may leave before it is. What it uses is freed when
 * the owner and the thread have both left. Embed it as the first member of what the thread uses. */
#pragma once

#include "lib/base.h"

#include <stdatomic.h>

struct proof_thread {
    void (*work)(struct proof_thread *self);    /* in the thread */
    void (*release)(struct proof_thread *self); /* frees; by whom leaves last */
    atomic_bool is_done;
    atomic_int users;
};

/* False: no thread could be started; then it counts as done, and `work` was not called. */
NODISCARD bool proof_thread_start(struct proof_thread *thread,
                                  void (*work)(struct proof_thread *self),
                                  void (*release)(struct proof_thread *self));
/* What the thread has written may be read then. */
bool proof_thread_is_done(struct proof_thread *thread);
void proof_thread_leave(struct proof_thread *thread); /* of the owner, once */
