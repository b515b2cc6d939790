// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/proof_thread.h"

#include <pthread.h>

void proof_thread_leave(struct proof_thread *thread) {
    if (atomic_fetch_sub(&thread->users, 1) == 1) {
        thread->release(thread);
    }
}

static void end(struct proof_thread *thread) {
    atomic_store(&thread->is_done, true);
    proof_thread_leave(thread);
}

static void *run(void *context) {
    struct proof_thread *thread = context;
    thread->work(thread);
    end(thread);
    return NULL;
}

bool proof_thread_start(struct proof_thread *thread, void (*work)(struct proof_thread *self),
                        void (*release)(struct proof_thread *self)) {
    pthread_t id;
    thread->work = work;
    thread->release = release;
    atomic_store(&thread->is_done, false);
    atomic_store(&thread->users, 2);
    if (pthread_create(&id, NULL, run, thread) != 0) {
        end(thread);
        return false;
    }
    pthread_detach(id);
    return true;
}

bool proof_thread_is_done(struct proof_thread *thread) {
    return atomic_load(&thread->is_done);
}
