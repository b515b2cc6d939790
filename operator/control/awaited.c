// SPDX-License-Identifier: Apache-2.0
#include "operator/control/awaited.h"

#include <stdlib.h>

struct awaited {
    json_t *waiters; /* of a resource: {other: {waiter: true}} */
    json_t *others;  /* what a waiter waits for: {waiter: {other: true}} */
};

struct awaited *awaited_new(void) {
    struct awaited *awaited = x_calloc(1, sizeof *awaited);
    *awaited = (struct awaited){json_object(), json_object()};
    return awaited;
}

void awaited_free(struct awaited *awaited) {
    if (awaited) {
        json_decref(awaited->waiters);
        json_decref(awaited->others);
        free(awaited);
    }
}

void awaited_add(struct awaited *awaited, const char *waiter, const char *other) {
    json_object_set_new(tree_ensure_object(awaited->waiters, other), waiter, json_true());
    json_object_set_new(tree_ensure_object(awaited->others, waiter), other, json_true());
}

void awaited_forget(struct awaited *awaited, const char *waiter) {
    const char *other;
    json_t *ignored;
    json_object_foreach(json_object_get(awaited->others, waiter), other, ignored) {
        json_t *waiters = json_object_get(awaited->waiters, other);
        json_object_del(waiters, waiter);
        if (json_object_size(waiters) == 0) {
            json_object_del(awaited->waiters, other);
        }
    }
    json_object_del(awaited->others, waiter);
}

const json_t *awaited_by(const struct awaited *awaited, const char *other) {
    return json_object_get(awaited->waiters, other);
}
