// SPDX-License-Identifier: Apache-2.0
#include "operator/control/requeue.h"

#include "lib/time/clock.h"
#include "operator/object.h"
#include "operator/resource_key.h"

#include <string.h>

static bool is_resource(const struct requeue *requeue, const char *kind) {
    const struct kind *const *each = requeue->kinds;
    while (*each && strcmp((*each)->name, kind) != 0) {
        each++;
    }
    return *each != NULL;
}

static void queue_one(const struct requeue *requeue, const json_t *named, const char *name,
                      const char *namespace, const char *but) {
    const char *kind = tree_text(named, "kind", "");
    AUTO(text_freep) char *key = resource_key_format(kind, namespace, name);
    if (is_resource(requeue, kind) && !(but && strcmp(key, but) == 0)) {
        queue_add(requeue->queue, key, clock_monotonic_ms());
    }
}

static void queue_waiters(const struct requeue *requeue, const json_t *object) {
    AUTO(text_freep) char *key = resource_key_of_object(object);
    const char *waiter;
    json_t *ignored;
    json_object_foreach((json_t *)awaited_by(requeue->awaited, key), waiter, ignored) {
        queue_add(requeue->queue, waiter, clock_monotonic_ms());
    }
}

void requeue_all(const struct requeue *requeue, const json_t *object, const char *but) {
    const char *namespace = tree_text(object, "metadata.namespace", "default");
    size_t i;
    json_t *owner;
    queue_one(requeue, object, tree_text(object, "metadata.name", ""), namespace, but);
    queue_waiters(requeue, object);
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, owner) {
        queue_one(requeue, owner, tree_text(owner, "name", ""), namespace, but);
    }
}

void requeue_lost_owners(const struct requeue *requeue, const json_t *before,
                         const json_t *object) {
    const char *namespace = tree_text(object, "metadata.namespace", "default");
    size_t i;
    json_t *owner;
    json_array_foreach(tree_get(before, "metadata.ownerReferences"), i, owner) {
        if (!object_is_owned_by(object, tree_text(owner, "uid", ""))) {
            queue_one(requeue, owner, tree_text(owner, "name", ""), namespace, /* but= */ NULL);
        }
    }
}
