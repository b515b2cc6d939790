// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/alone.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

void alone_release(struct alone *alone) {
    free(alone->name);
    free(alone->uid);
    free(alone->error);
    *alone = (struct alone){.is_begun = alone->is_begun};
}

static bool is_it(const struct alone *alone, const json_t *pod) {
    return alone->name && strcmp(tree_text(pod, "metadata.name", ""), alone->name) == 0 &&
           (!alone->uid || strcmp(tree_text(pod, "metadata.uid", ""), alone->uid) == 0);
}

static void expect(struct alone *alone, const char *name, const char *uid) {
    alone_release(alone);
    alone->name = x_strdup(name);
    alone->uid = uid ? x_strdup(uid) : NULL;
}

/* It has not ended, as far as is known. */
static bool may_run(const json_t *pod) {
    return !pod_phase_read(pod).is_gone;
}

void alone_note(struct alone *alone, const json_t *pods, bool (*is_hub)(const json_t *pod),
                const char *last) {
    const json_t *newest = NULL;
    if (!alone->is_begun && last) {
        expect(alone, last, NULL);
    }
    alone->is_begun = true;
    alone->is_seen = false;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        if (is_it(alone, pod) && !may_run(pod)) {
            alone_release(alone);
        } else if (is_hub(pod) && may_run(pod) &&
                   (!newest || pod_phase_read(pod).attempt > pod_phase_read(newest).attempt)) {
            newest = pod;
        }
    }
    if (newest) {
        if (!is_it(alone, newest) || !alone->uid || alone->delay.failures > 0) {
            expect(alone, tree_text(newest, "metadata.name", ""),
                   tree_text(newest, "metadata.uid", ""));
        }
        alone->is_seen = true;
    }
}

/* Its place stays empty, and the job goes on with everything else. */
static bool is_left_empty(const struct alone *alone) {
    return alone->is_held || alone->delay.failures >= ALONE_TRIES;
}

const struct write_failure *alone_held(struct alone *alone) {
    alone->reported =
        (struct write_failure){.object = {"Pod", alone->name},
                               .why = alone->is_held ? WRITE_FAILURE_HELD : WRITE_FAILURE_UNKNOWN,
                               .text = alone->error ? alone->error : ""};
    return is_left_empty(alone) ? &alone->reported : NULL;
}

/* True: it had such a pod. */
static bool take_off(json_t *create) {
    bool had = false;
    for (size_t i = json_array_size(create); i > 0; i--) {
        if (owned_annotation(json_array_get(create, i - 1), ANNOTATION_ALONE)) {
            json_array_remove(create, i - 1);
            had = true;
        }
    }
    return had;
}

static void ask(struct reconcile *request, struct alone *alone) {
    if (alone->is_asked || !retry_delay_is_over(request, &alone->delay)) {
        return;
    }
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Pod",
                             "metadata", "name", alone->name, "namespace", request->namespace);
    alone->is_asked = reconcile_find(request, like);
}

bool alone_filter(struct reconcile *request, struct alone *alone, json_t *create) {
    if (!alone->name || alone->is_seen || !take_off(create)) {
        return true;
    }
    ask(request, alone);
    bool goes_on = is_left_empty(alone);
    if (!goes_on) {
        reconcile_keep_polling(request);
    }
    return goes_on;
}

void alone_found(struct alone *alone, const struct found *found, const char *owner_uid) {
    if (!alone->is_asked || strcmp(tree_text(found->like, "kind", ""), "Pod") != 0 ||
        strcmp(tree_text(found->like, "metadata.name", ""), alone->name) != 0) {
        return;
    }
    alone->is_asked = false;
    free(TAKE(alone->error));
    if (found->err) {
        alone->error = x_strdup(found->err->text);
        retry_delay_note(&alone->delay);
    } else if (is_it(alone, found->object) && may_run(found->object) &&
               (alone->uid || object_is_owned_by(found->object, owner_uid))) {
        alone->is_held = true;
        retry_delay_note(&alone->delay);
    } else {
        alone_release(alone);
    }
}
