// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/status_write.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOON_MS = 1000,         /* between two writes of what is neither a condition nor a figure */
    PROBE_EVERY_MS = 60000, /* a status that the cluster stores only in part */
};

/* How long a difference may wait. */
enum urgency { URGENCY_NONE, URGENCY_FIGURES, URGENCY_SOON, URGENCY_NOW };

void status_write_requeue(struct reconcile *request, int64_t left_ms) {
    request->again_ms = request->again_ms > 0 ? MIN(request->again_ms, left_ms) : left_ms;
}

/* They follow from time even when nothing is done. */
static const char *const rates[] = {"itemsPerSecond", "samplesPerSecond", "secondsLeft"};
/* They grow all the time. */
static const char *const figures[] = {"items",      "miniBatches", "progress", "workers",
                                      "step",       "epoch",       "loss",     "accuracy",
                                      "checkpoint", "objective",   "trained"};

static bool is_in(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether people and tools wait for it: not so a message. */
static enum urgency of_conditions(const json_t *before, const json_t *status) {
    const json_t *list = json_object_get(status, "conditions");
    if (json_array_size(list) != json_array_size(json_object_get(before, "conditions"))) {
        return URGENCY_NOW;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        const json_t *old = object_condition(before, tree_text(condition, "type", ""));
        static const char *const fields[] = {"status", "reason"};
        for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
            if (!json_equal(json_object_get(condition, fields[k]),
                            json_object_get(old, fields[k]))) {
                return URGENCY_NOW;
            }
        }
    }
    return URGENCY_FIGURES;
}

/* Workers are connected, or none is any more. A DistTrain's are an object. */
static bool has_workers(const json_t *status) {
    return tree_integer(status, "workers", 0) > 0 ||
           tree_integer(status, "workers.registered", 0) > 0;
}

static enum urgency of_field(const json_t *before, const json_t *status, const char *name) {
    const json_t *old = json_object_get(before, name), *now = json_object_get(status, name);
    if (json_equal(old, now) || is_in(name, rates, ARRAY_LEN(rates))) {
        return URGENCY_NONE;
    }
    if (strcmp(name, "conditions") == 0) {
        return of_conditions(before, status);
    }
    bool is_figure = is_in(name, figures, ARRAY_LEN(figures)) && old && now;
    if (strcmp(name, "workers") == 0 && has_workers(before) != has_workers(status)) {
        is_figure = false;
    }
    return is_figure ? URGENCY_FIGURES : URGENCY_SOON;
}

static enum urgency urgency_of(const json_t *before, const json_t *status) {
    enum urgency urgency = URGENCY_NONE;
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)status, name, ignored) {
        urgency = MAX(urgency, of_field(before, status, name));
    }
    json_object_foreach((json_t *)before, name, ignored) {
        urgency = MAX(urgency, of_field(before, status, name));
    }
    return urgency;
}

/* The output's storage turned out not to prevent two coordinators from writing. The safety of the
 * next coordinator, which another controller may create, depends on this. */
static bool warns(const json_t *before, const json_t *status) {
    return json_is_false(json_object_get(status, "exclusive")) &&
           !json_is_false(json_object_get(before, "exclusive"));
}

/* A Sweep decides by this whether the job goes on; it happens at most 48 times. */
static bool has_grown(const json_t *before, const json_t *status) {
    return strcmp(tree_text(before, "objective.at", ""), tree_text(status, "objective.at", "")) !=
           0;
}

/* How long the new status can wait. In a rush everything can, except the end of the job and a new
 * Secret's name, on which other writes depend; the first Secret's name, and the record of what the
 * job began with, are on its Service. A status with a field that an old definition drops is retried
 * only rarely. */
static int64_t can_wait_ms(const struct reconcile *request,
                           const struct status_write_record *record, const json_t *before,
                           const json_t *status) {
    bool is_probe = record->dropped != NULL;
    bool has_ended = strcmp(tree_text(object_condition(before, "Succeeded"), "status", "Unknown"),
                            tree_text(object_condition(status, "Succeeded"), "status", "Unknown"));
    const json_t *secret = tree_get(before, "credentials.secret");
    bool is_renamed = secret && !json_equal(secret, tree_get(status, "credentials.secret"));
    if (has_ended ||
        (!is_probe && (is_renamed || warns(before, status) || has_grown(before, status)))) {
        return 0;
    }
    const json_t *old = json_object_get(before, "credentials");
    const json_t *now = json_object_get(status, "credentials");
    bool is_step = !is_probe && old != now && !json_equal(old, now); /* (both may be absent) */
    enum urgency urgency = is_step ? URGENCY_NOW : urgency_of(before, status);
    int64_t every_ms = is_probe                     ? PROBE_EVERY_MS
                       : urgency == URGENCY_FIGURES ? request->figures_ms
                                                    : SOON_MS;
    int64_t due_ms = record->wrote_ms + every_ms;
    int64_t left_ms = urgency == URGENCY_NOW ? 0 : due_ms - request->monotonic_ms;
    return MAX(left_ms, request->overload_ms);
}

bool status_write(struct reconcile *request, struct status_write_record *record, json_t *status) {
    const json_t *before = json_object_get(request->object, "status");
    if (!record->is_seen) {
        record->is_seen = true;
        record->wrote_ms = request->monotonic_ms - SOON_MS -
                           arc4random_uniform((uint32_t)MAX(request->figures_ms, 1));
    }
    if (!status || urgency_of(before, status) == URGENCY_NONE) {
        return true;
    }
    int64_t left_ms = can_wait_ms(request, record, before, status);
    if (left_ms > 0) {
        status_write_requeue(request, left_ms);
        return false;
    }
    json_t *object = json_copy((json_t *)request->object);
    json_object_set(object, "status", status);
    reconcile_write(request, CLUSTER_STATUS, object);
    return true;
}

void status_write_note(struct status_write_record *record, const struct written *written) {
    if (written->verb == CLUSTER_STATUS && !written->err) {
        *record = (struct status_write_record){
            .is_seen = true,
            .wrote_ms = clock_monotonic_ms(),
            .dropped = conditions_dropped(written->object, written->stored)};
    }
}
