// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/commit_trouble.h"

#include "lib/time/clock.h"

void commit_trouble_init(struct commit_trouble *trouble) {
    *trouble = (struct commit_trouble){0};
    pthread_mutex_init(&trouble->lock, NULL);
}

void commit_trouble_release(struct commit_trouble *trouble) {
    pthread_mutex_destroy(&trouble->lock);
}

void commit_trouble_note(struct commit_trouble *trouble, const struct error *why) {
    if (!trouble) {
        return;
    }
    pthread_mutex_lock(&trouble->lock);
    if (why && trouble->why.kind == ERROR_NONE) {
        trouble->since_ms = clock_monotonic_ms();
    }
    if (!why || trouble->why.kind != why->kind) {
        trouble->why = why ? *why : (struct error){0};
    }
    pthread_mutex_unlock(&trouble->lock);
}

int64_t commit_trouble_find(struct commit_trouble *trouble, int64_t now_ms, struct error *ret_why) {
    pthread_mutex_lock(&trouble->lock);
    *ret_why = trouble->why;
    int64_t waited_ms = trouble->why.kind == ERROR_NONE ? -1 : now_ms - trouble->since_ms;
    pthread_mutex_unlock(&trouble->lock);
    return waited_ms;
}
