// SPDX-License-Identifier: Apache-2.0
#include "operator/control/reconcile.h"

#include "operator/control/awaited.h"
#include "operator/control/controller.h"
#include "operator/control/poller.h"
#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "operator/resource_key.h"

#include <string.h>

static char *key_of(const struct reconcile *request) {
    return resource_key_format(request->kind, request->namespace, request->name);
}

const char *reconcile_poll(struct reconcile *request, const struct poller_target *place,
                           bool has_priority) {
    AUTO(text_freep) char *key = key_of(request);
    request->is_polling = true;
    return poller_get(request->poller, key, place, has_priority);
}

void reconcile_keep_polling(struct reconcile *request) {
    request->is_polling = true;
}

static bool ask(struct reconcile *request, const json_t *like, const char *fields) {
    AUTO(text_freep) char *key = key_of(request);
    if (!queries_ask(request->queries, key, request->kind_index, like, fields)) {
        return false;
    }
    retry_pace_charge(request->pace, key, request->monotonic_ms);
    return true;
}

bool reconcile_list(struct reconcile *request, const json_t *like, const char *fields) {
    return ask(request, like, fields);
}

bool reconcile_find(struct reconcile *request, const json_t *like) {
    return ask(request, like, NULL);
}

/* What an earlier pass waited for no longer counts. */
static void wait_for(struct reconcile *request, const char *kind, const char *name) {
    AUTO(text_freep) char *key = key_of(request);
    AUTO(text_freep) char *other = resource_key_format(kind, request->namespace, name);
    if (!request->is_waiting) {
        request->is_waiting = true;
        awaited_forget(request->awaited, key);
    }
    awaited_add(request->awaited, key, other);
}

json_t *reconcile_named(struct reconcile *request, const char *kind, const char *name, bool waits) {
    json_t *found = json_array();
    for (const struct kind *const *each = request->kinds; each && *each; each++) {
        const char *one = (*each)->name;
        if (kind && strcmp(kind, one) != 0) {
            continue;
        }
        json_t *object = cache_find(request->cache, one, request->namespace, name);
        if (object) {
            json_array_append_new(found, object);
        }
        if (waits) {
            wait_for(request, one, name);
        }
    }
    return found;
}

void reconcile_learn(struct reconcile *request, const json_t *object) {
    cache_put(request->cache, object);
    json_array_append(request->learned, (json_t *)object);
}

bool reconcile_may_retry(struct reconcile *request, int64_t due_ms, int failures) {
    AUTO(text_freep) char *key = key_of(request);
    const struct retry_wish wish = {key, request->namespace, due_ms, failures};
    bool may = retry_pace_ask(request->pace, &wish, request->monotonic_ms);
    request->is_retry |= may;
    return may;
}

void reconcile_write(struct reconcile *request, enum cluster_verb verb, json_t *object_new) {
    json_array_append_new(request->writes,
                          json_pack("{s:i, s:o}", "verb", (int)verb, "object", object_new));
}
