// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/write_failures.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/plan.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAKEN_MS = 5000,       /* our own objects may be missing from the cache for this long */
    REFUSED_MIN_MS = 1000, /* the pause of creations after a refusal, doubling */
    REFUSED_MAX_MS = 60000,
};

static void note_trouble(json_t *kept, const char *prefix, const struct written *written) {
    json_t *write_failures = json_object_get(kept, "troubles");
    AUTO(text_freep)
    char *name = x_printf("%s%s %s", prefix, tree_text(written->object, "kind", ""),
                          tree_text(written->object, "metadata.name", ""));
    if (!written->err) {
        json_object_del(write_failures, name);
        return;
    }
    int64_t since_ms = tree_integer(json_object_get(write_failures, name), "sinceMs", 0);
    since_ms = since_ms ? since_ms : clock_monotonic_ms();
    json_object_set_new(write_failures, name,
                        json_pack("{s:i, s:s, s:I}", "kind", (int)written->err->kind, "text",
                                  written->err->text, "sinceMs", (json_int_t)since_ms));
}

/* A quota refuses objects until others are deleted, and each try costs the cluster. */
static void note_refusal(json_t *kept, const struct error *err) {
    const json_t *refused = json_object_get(kept, "refused");
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < tree_integer(refused, "untilMs", 0)) {
        return; /* refused in the same pass */
    }
    if (!err) {
        json_object_del(kept, "refused");
    } else if (err->kind == ERROR_DENIED) {
        int64_t count = tree_integer(refused, "count", 0);
        int64_t pause_ms = MIN((int64_t)REFUSED_MIN_MS << MIN(count, 10), REFUSED_MAX_MS);
        pause_ms = pause_ms / 2 + arc4random_uniform((uint32_t)pause_ms / 2 + 1);
        json_object_set_new(kept, "refused",
                            json_pack("{s:I, s:I}", "count", (json_int_t)count + 1, "untilMs",
                                      (json_int_t)(now_ms + pause_ms)));
    }
}

void write_failures_note(json_t *kept, const struct written *written) {
    note_trouble(kept, "", written);
    if (written->verb == CLUSTER_CREATE) {
        note_refusal(kept, written->err);
    }
}

void write_failures_note_change(json_t *kept, const struct written *written) {
    struct written ended = *written;
    bool is_refused = written->err &&
                      (written->err->kind == ERROR_DENIED || written->err->kind == ERROR_INVALID ||
                       written->err->kind == ERROR_UNSUPPORTED);
    ended.err = is_refused ? written->err : NULL;
    note_trouble(kept, WRITE_FAILURES_CHANGE, &ended);
}

/* The name is taken: by our own object (its event is not here yet), by an object of an earlier job,
 * or by a foreign object, which the cache has only if it carries our label. */
static const char *who_took_it(const struct reconcile *request, const char *what,
                               const json_t *trouble) {
    const char *space = strchr(what, ' ');
    AUTO(text_freep) char *kind = x_strndup(what, (size_t)(space - what));
    AUTO(tree_freep)
    json_t *there = cache_find(request->cache, kind, request->namespace, space + 1);
    if (!there) {
        int64_t since_ms = tree_integer(trouble, "sinceMs", 0);
        return request->monotonic_ms - since_ms >= TAKEN_MS ? "Taken" : NULL;
    }
    if (object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        return NULL;
    }
    const char *job = owned_label(there, LABEL_JOB);
    bool earlier =
        strcmp(tree_text(there, "metadata.ownerReferences[0].kind", ""), request->kind) == 0 &&
        job && strcmp(job, request->name) == 0;
    return earlier || tree_get(there, "metadata.deletionTimestamp") ? "Leaving" : "Taken";
}

json_t *write_failures_of(const struct reconcile *request, const json_t *kept) {
    json_t *told = json_object();
    const char *name;
    json_t *trouble;
    json_object_foreach(json_object_get(kept, "troubles"), name, trouble) {
        const char *why = NULL;
        switch ((enum error_kind)tree_integer(trouble, "kind", 0)) {
        case ERROR_CONFLICT:
            why = who_took_it(request, name, trouble);
            break;
        case ERROR_DENIED:
            why = "Denied";
            break;
        case ERROR_NOT_FOUND:
            why = "Missing";
            break;
        case ERROR_INVALID:
        case ERROR_UNSUPPORTED:
            why = "Refused";
            break;
        default:
            break; /* the cluster has a problem, not the object */
        }
        if (why) {
            json_object_set_new(
                told, name,
                json_pack("{s:s, s:s}", "why", why, "text", tree_text(trouble, "text", "")));
        }
    }
    return told;
}
