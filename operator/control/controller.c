// SPDX-License-Identifier: Apache-2.0
#include "operator/control/controller.h"

#include "lib/clock.h"
#include "operator/control/queue.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 8, WATCHES_MAX = 32, LOOKS_PER_STEP = 64 };

struct controller {
    struct cluster *cluster;
    const struct kind *kinds[KINDS_MAX];
    void *states[KINDS_MAX];
    size_t kind_count;
    struct cache *cache;
    struct queue *queue; /* keys "Kind namespace/name" */
    controller_report *report;
    void *report_context;
};

/* Whether a look that failed so is worth another without a change of the resource. */
static const bool retried[] = {
    [ERROR_NONE] = false,     [ERROR_INVALID] = false,     [ERROR_NOT_FOUND] = true,
    [ERROR_CONFLICT] = true,  [ERROR_GONE] = true,         [ERROR_DENIED] = true,
    [ERROR_BUSY] = true,      [ERROR_UNAVAILABLE] = true,  [ERROR_TIMEOUT] = true,
    [ERROR_EXHAUSTED] = true, [ERROR_UNSUPPORTED] = false, [ERROR_CANCELLED] = false,
    [ERROR_FAILED] = false,   [ERROR_BUG] = false,
};
static_assert(ARRAY_LEN(retried) == ERROR_KIND_COUNT, "one decision per kind of error");

static const struct kind *find_kind(const struct controller *controller, const char *name,
                                    size_t *ret_index) {
    for (size_t i = 0; i < controller->kind_count; i++) {
        if (strcmp(controller->kinds[i]->name, name) == 0) {
            *ret_index = i;
            return controller->kinds[i];
        }
    }
    return NULL;
}

/* "v1 Pod" -> watch */
static int watch_owned(struct controller *controller, const char *owned, struct error *err) {
    const char *space = strchr(owned, ' ');
    assert(space);
    AUTO(text_freep) char *api_version = x_strndup(owned, (size_t)(space - owned));
    cache_expect(controller->cache, space + 1);
    return controller->cluster->ops->watch(controller->cluster, api_version, space + 1, LABEL_JOB,
                                           err);
}

static int watch_all(struct controller *controller, struct error *err) {
    const char *watched[WATCHES_MAX]; /* two kinds may own the same kind */
    size_t count = 0;
    for (size_t i = 0; i < controller->kind_count; i++) {
        const struct kind *kind = controller->kinds[i];
        cache_expect(controller->cache, kind->name);
        if (controller->cluster->ops->watch(controller->cluster, kind->api_version, kind->name,
                                            /* label= */ NULL, err) < 0) {
            return -1;
        }
        for (const char *const *owned = kind->owned; *owned; owned++) {
            bool known = false;
            for (size_t j = 0; j < count; j++) {
                known = known || strcmp(watched[j], *owned) == 0;
            }
            assert(count < WATCHES_MAX);
            if (!known && watch_owned(controller, watched[count++] = *owned, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                   controller_report *report, void *report_context,
                   struct controller **ret_controller, struct error *err) {
    struct controller *controller = x_calloc(1, sizeof *controller);
    controller->cluster = cluster;
    controller->cache = cache_new();
    controller->queue = queue_new();
    controller->report = report;
    controller->report_context = report_context;
    for (; kinds[controller->kind_count]; controller->kind_count++) {
        assert(controller->kind_count < KINDS_MAX);
        controller->kinds[controller->kind_count] = kinds[controller->kind_count];
        controller->states[controller->kind_count] = kinds[controller->kind_count]->state_new();
    }
    if (watch_all(controller, err) < 0) {
        controller_free(controller);
        return -1;
    }
    *ret_controller = controller;
    return 0;
}

void controller_free(struct controller *controller) {
    if (!controller) {
        return;
    }
    for (size_t i = 0; i < controller->kind_count; i++) {
        controller->kinds[i]->state_free(controller->states[i]);
    }
    cache_free(controller->cache);
    queue_free(controller->queue);
    free(controller);
}

const struct cache *controller_cache(const struct controller *controller) {
    return controller->cache;
}

/* Queues the resource itself, or the one that owns the object. */
static void queue_owner(void *context, enum cluster_event event, const json_t *object) {
    struct controller *controller = context;
    (void)event;
    int64_t now_ms = clock_monotonic_ms();
    const char *namespace = tree_text(object, "metadata.namespace", "default");
    size_t index;
    if (find_kind(controller, tree_text(object, "kind", ""), &index)) {
        AUTO(text_freep)
        char *key = x_printf("%s %s/%s", controller->kinds[index]->name, namespace,
                             tree_text(object, "metadata.name", ""));
        queue_add(controller->queue, key, now_ms);
        return;
    }
    size_t i;
    json_t *owner;
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, owner) {
        if (find_kind(controller, tree_text(owner, "kind", ""), &index)) {
            AUTO(text_freep)
            char *key = x_printf("%s %s/%s", controller->kinds[index]->name, namespace,
                                 tree_text(owner, "name", ""));
            queue_add(controller->queue, key, now_ms);
        }
    }
}

static void hear(void *context, enum cluster_event event, const json_t *object) {
    struct controller *controller = context;
    cache_update(controller->cache, event, object, queue_owner, controller);
    if (event == CLUSTER_APPLIED || event == CLUSTER_DELETED) {
        queue_owner(controller, event, object);
    }
}

/* The one place that turns a kind of error into what happens next. */
static void settle(struct controller *controller, const char *key, const struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    int failures = queue_failures(controller->queue, key) + 1;
    int64_t retry_ms = -1;
    if (retried[err->kind]) {
        retry_ms = queue_add_failed(controller->queue, key, now_ms);
    }
    controller->report(controller->report_context, key, err, retry_ms, failures);
}

static void look(struct controller *controller, const char *key) {
    const char *space = strchr(key, ' '), *slash = strchr(key, '/');
    assert(space && slash);
    AUTO(text_freep) char *kind_name = x_strndup(key, (size_t)(space - key));
    AUTO(text_freep) char *namespace = x_strndup(space + 1, (size_t)(slash - space - 1));
    size_t index = 0;
    const struct kind *kind = find_kind(controller, kind_name, &index);
    assert(kind);
    const json_t *seen = cache_find(controller->cache, kind_name, namespace, slash + 1);
    AUTO(tree_freep) json_t *object = json_incref((json_t *)seen);
    struct reconcile request = {
        .cluster = controller->cluster,
        .cache = controller->cache,
        .namespace = namespace,
        .name = slash + 1,
        .object = object,
        .wall_ms = clock_wall_ms(),
        .monotonic_ms = clock_monotonic_ms(),
    };
    struct error err = {0};
    if (kind->reconcile(controller->states[index], &request, &err) < 0) {
        settle(controller, key, &err);
        return;
    }
    queue_forget(controller->queue, key);
    if (request.again_ms > 0) {
        queue_add(controller->queue, key, clock_monotonic_ms() + request.again_ms);
    }
}

int controller_idle_ms(struct controller *controller) {
    int64_t next_ms = queue_next_ms(controller->queue);
    if (next_ms == INT64_MAX || !cache_is_complete(controller->cache)) {
        return INT_MAX;
    }
    int64_t left_ms = next_ms - clock_monotonic_ms();
    return (int)MAX(0, MIN(left_ms, INT_MAX));
}

int controller_step(struct controller *controller, int timeout_ms, struct error *err) {
    struct cluster *cluster = controller->cluster;
    int idle_ms = controller_idle_ms(controller);
    if (cluster->ops->wait(cluster, MIN(timeout_ms, idle_ms), hear, controller, err) < 0) {
        return -1;
    }
    /* Before everything is listed, what is there would look missing and be made twice. */
    for (int looks = 0; looks < LOOKS_PER_STEP && cache_is_complete(controller->cache); looks++) {
        AUTO(text_freep) char *key = queue_take(controller->queue, clock_monotonic_ms());
        if (!key) {
            break;
        }
        look(controller, key);
    }
    return 0;
}
