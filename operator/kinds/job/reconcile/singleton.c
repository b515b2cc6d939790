// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/singleton.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

void singleton_release(struct singleton *singleton) {
    free(singleton->name);
    free(singleton->uid);
    free(singleton->error);
    *singleton = (struct singleton){.is_begun = singleton->is_begun};
}

static bool is_it(const struct singleton *singleton, const json_t *pod) {
    return singleton->name && strcmp(tree_text(pod, "metadata.name", ""), singleton->name) == 0 &&
           (!singleton->uid || strcmp(tree_text(pod, "metadata.uid", ""), singleton->uid) == 0);
}

static void expect(struct singleton *singleton, const char *name, const char *uid) {
    singleton_release(singleton);
    singleton->name = x_strdup(name);
    singleton->uid = uid ? x_strdup(uid) : NULL;
}

/* It has not ended, as far as is known. */
static bool may_run(const json_t *pod) {
    return !pod_phase_read(pod).is_gone;
}

void singleton_note(struct singleton *singleton, const json_t *pods,
                    bool (*is_hub)(const json_t *pod), const char *last) {
    const json_t *newest = NULL;
    if (!singleton->is_begun && last) {
        expect(singleton, last, NULL);
    }
    singleton->is_begun = true;
    singleton->is_seen = false;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        if (is_it(singleton, pod) && !may_run(pod)) {
            singleton_release(singleton);
        } else if (is_hub(pod) && may_run(pod) &&
                   (!newest || pod_phase_read(pod).attempt > pod_phase_read(newest).attempt)) {
            newest = pod;
        }
    }
    if (newest) {
        if (!is_it(singleton, newest) || !singleton->uid || singleton->delay.failures > 0) {
            expect(singleton, tree_text(newest, "metadata.name", ""),
                   tree_text(newest, "metadata.uid", ""));
        }
        singleton->is_seen = true;
    }
}

/* Its place stays empty, and the job goes on with everything else. */
static bool is_left_empty(const struct singleton *singleton) {
    return singleton->is_held || singleton->delay.failures >= SINGLETON_TRIES;
}

const struct write_failure *singleton_held(struct singleton *singleton) {
    singleton->reported = (struct write_failure){.object = {"Pod", singleton->name},
                                                 .why = singleton->is_held ? WRITE_FAILURE_HELD
                                                                           : WRITE_FAILURE_UNKNOWN,
                                                 .text = singleton->error ? singleton->error : ""};
    return is_left_empty(singleton) ? &singleton->reported : NULL;
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

static void ask(struct reconcile *request, struct singleton *singleton) {
    if (singleton->is_asked || !retry_delay_is_over(request, &singleton->delay)) {
        return;
    }
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Pod",
                             "metadata", "name", singleton->name, "namespace", request->namespace);
    singleton->is_asked = reconcile_find(request, like);
}

bool singleton_filter(struct reconcile *request, struct singleton *singleton, json_t *create) {
    if (!singleton->name || singleton->is_seen || !take_off(create)) {
        return true;
    }
    ask(request, singleton);
    bool goes_on = is_left_empty(singleton);
    if (!goes_on) {
        reconcile_keep_polling(request);
    }
    return goes_on;
}

void singleton_found(struct singleton *singleton, const struct found *found,
                     const char *owner_uid) {
    if (!singleton->is_asked || strcmp(tree_text(found->like, "kind", ""), "Pod") != 0 ||
        strcmp(tree_text(found->like, "metadata.name", ""), singleton->name) != 0) {
        return;
    }
    singleton->is_asked = false;
    free(TAKE(singleton->error));
    if (found->err) {
        singleton->error = x_strdup(found->err->text);
        retry_delay_note(&singleton->delay);
    } else if (is_it(singleton, found->object) && may_run(found->object) &&
               (singleton->uid || object_is_owned_by(found->object, owner_uid))) {
        singleton->is_held = true;
        retry_delay_note(&singleton->delay);
    } else {
        singleton_release(singleton);
    }
}
