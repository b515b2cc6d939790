// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/change_remote.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/commands/jobs/job_print.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"
#include "operator/show/ending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GONE_MS = 120000, LOOK_MS = 500 };

static int suspend(struct job_found *found, bool wanted, bool dry, struct error *err) {
    const struct rest_place place = job_found_place(found);
    AUTO(tree_freep) json_t *change = json_pack("{s:{s:b}}", "spec", "suspend", wanted);
    return remote_merge(&found->remote, &place, change, dry, err);
}

/* What a user would have written. Owned. */
static json_t *as_new(const json_t *job, bool restart) {
    static const char *const kept[] = {"name", "namespace", "labels", "annotations"};
    json_t *copy = json_pack("{s:s, s:s, s:{}, s:o}", "apiVersion",
                             tree_text(job, "apiVersion", ""), "kind", tree_text(job, "kind", ""),
                             "metadata", "spec", json_deep_copy(json_object_get(job, "spec")));
    json_t *metadata = json_object_get(copy, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_t *value = json_object_get(json_object_get(job, "metadata"), kept[i]);
        if (value) {
            json_object_set_new(metadata, kept[i], json_deep_copy(value));
        }
    }
    json_t *annotations = tree_ensure_object(metadata, "annotations");
    json_object_del(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    if (restart) {
        AUTO(text_freep) char *text = digest_random(16);
        json_object_set_new(annotations, ANNOTATION_RESTART, json_string(text));
    }
    json_object_set_new(json_object_get(copy, "spec"), "suspend", json_false());
    return copy;
}

/* A request that fails says nothing about the object, and is sent again. */
static int wait_gone(struct remote *remote, const struct rest_place *place, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + GONE_MS;
    for (;;) {
        AUTO(tree_freep) json_t *still = NULL;
        struct error why = {0};
        int result = remote_get(remote, place, NULL, &still, &why);
        if (result < 0 && why.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        if (clock_monotonic_ms() >= end_ms && result < 0) {
            *err = why;
            return -1;
        }
        if (clock_monotonic_ms() >= end_ms) {
            return error_set(err, ERROR_TIMEOUT, "%s is still being deleted", place->name);
        }
        if (remote_pause(remote, LOOK_MS, err) < 0) {
            return -1;
        }
    }
}

/* The job is deleted, or may be, and nothing has come in its place: only this has it still. */
static void save(const json_t *object) {
    AUTO(text_freep) char *text = job_print_yaml(object);
    fprintf(stderr,
            "# The job was deleted and could not be created again. When it is gone, kubectl create "
            "-f\n# with these lines in a file makes it:\n%s",
            text);
}

static int make_anew(struct job_found *found, bool restart, bool dry, struct error *err) {
    const struct rest_place place = job_found_place(found);
    AUTO(tree_freep) json_t *object = as_new(found->job, restart);
    if (remote_delete(&found->remote, &place, /* waits_for_owned= */ true, dry, err) < 0) {
        if (!dry && (err->kind == ERROR_TIMEOUT || err->kind == ERROR_UNAVAILABLE)) {
            save(object); /* the answer was lost, perhaps */
        }
        return -1;
    }
    if (!dry && (wait_gone(&found->remote, &place, err) < 0 ||
                 remote_create(&found->remote, object, /* dry= */ false, err) < 0)) {
        save(object);
        return -1;
    }
    return 0;
}

int change_remote(struct job_found *found, enum change change, bool dry, struct error *err) {
    const char *name = tree_text(found->job, "metadata.name", "");
    const json_t *status = json_object_get(found->job, "status");
    bool has_ended = ending_is_final(status),
         is_suspended = tree_bool(found->job, "spec.suspend", false);
    const struct rest_place place = job_found_place(found);
    switch (change) {
    case CHANGE_DELETE:
        return remote_delete(&found->remote, &place, /* waits_for_owned= */ false, dry, err);
    case CHANGE_CANCEL:
    case CHANGE_SUSPEND:
        if (has_ended) {
            break;
        }
        return suspend(found, true, dry, err);
    case CHANGE_RESUME:
        if (!has_ended && is_suspended) {
            return suspend(found, false, dry, err);
        }
        if (!has_ended || strcmp(tree_text(object_succeeded(status), "status", ""), "True") == 0) {
            break;
        }
        return make_anew(found, /* restart= */ false, dry, err);
    case CHANGE_RERUN:
        if (!has_ended && !is_suspended) {
            break;
        }
        return make_anew(found, /* restart= */ true, dry, err);
    }
    return error_set(err, ERROR_INVALID, "%s is %s: nothing to do", name, object_state(status));
}
