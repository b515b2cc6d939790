// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/relabelled.h"

#include "operator/control/claim.h"

#include <stdlib.h>
#include <string.h>

void relabelled_release(struct relabelled *relabelled) {
    json_decref(relabelled->names);
    json_decref(relabelled->there);
    *relabelled = (struct relabelled){0};
}

void relabelled_note(struct relabelled *relabelled, const json_t *vanished, const char *but) {
    for (size_t i = 0; i < json_array_size(vanished); i++) {
        json_t *name = json_array_get(vanished, i);
        if ((but && strcmp(json_string_value(name), but) == 0) ||
            json_array_size(relabelled->names) >= RELABELLED_MAX) {
            continue;
        }
        relabelled->names = relabelled->names ?: json_array();
        json_array_append(relabelled->names, name);
    }
}

static const char *first(const struct relabelled *relabelled) {
    return json_string_value(json_array_get(relabelled->names, 0));
}

/* The next one is looked for. */
static void drop(struct relabelled *relabelled) {
    json_array_remove(relabelled->names, 0);
    json_decref(TAKE(relabelled->there));
    relabelled->is_asked = relabelled->is_releasing = false;
    relabelled->delay = (struct retry_delay){0};
}

static void fail(struct relabelled *relabelled) {
    json_decref(TAKE(relabelled->there));
    relabelled->is_releasing = false;
    retry_delay_note(&relabelled->delay);
    if (relabelled->delay.failures >= RELABELLED_TRIES) {
        drop(relabelled);
    }
}

static void ask(struct reconcile *request, struct relabelled *relabelled) {
    if (!retry_delay_is_over(request, &relabelled->delay)) {
        return;
    }
    AUTO(tree_freep)
    json_t *like =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata", "name",
                  first(relabelled), "namespace", request->namespace);
    relabelled->is_asked = reconcile_find(request, like);
}

/* The watch shows it. A pod with the label of another job is seen, too, but not by this one.
 */
static bool is_seen(const struct reconcile *request, const char *name) {
    AUTO(tree_freep) json_t *seen = cache_find(request->cache, "Pod", request->namespace, name);
    const json_t *label = json_object_get(tree_get(seen, "metadata.labels"), LABEL_JOB);
    return json_is_string(label) && strcmp(json_string_value(label), request->name) == 0;
}

void relabelled_settle(struct reconcile *request, struct relabelled *relabelled) {
    while (first(relabelled) && !relabelled->is_asked && !relabelled->is_releasing) {
        const json_t *there = relabelled->there;
        if (is_seen(request, first(relabelled))) {
            drop(relabelled);
        } else if (!there) {
            ask(request, relabelled);
            return;
        } else if (claim_judge(there, NULL, request->object) == CLAIM_RELEASE) {
            relabelled->is_releasing = true;
            reconcile_write(request, CLUSTER_MERGE, claim_release(there, request->object));
        } else {
            drop(relabelled);
        }
    }
}

static bool is_first(const struct relabelled *relabelled, const json_t *object) {
    const char *name = first(relabelled);
    return name && strcmp(tree_text(object, "kind", ""), "Pod") == 0 &&
           strcmp(tree_text(object, "metadata.name", ""), name) == 0;
}

void relabelled_found(struct relabelled *relabelled, const struct found *found) {
    if (!relabelled->is_asked || !is_first(relabelled, found->like)) {
        return;
    }
    relabelled->is_asked = false;
    if (found->err) {
        fail(relabelled);
    } else if (found->object) {
        relabelled->there = json_incref((json_t *)found->object);
    } else {
        drop(relabelled); /* it was deleted */
    }
}

void relabelled_note_change(struct relabelled *relabelled, const struct written *written) {
    if (!relabelled->is_releasing || !is_first(relabelled, written->object)) {
        return;
    }
    if (!written->err || written->err->kind == ERROR_NOT_FOUND) {
        drop(relabelled);
    } else {
        fail(relabelled);
    }
}
