// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/status_write.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/object.h"

#include <string.h>

enum {
    STATUS_EVERY_MS = 1000, /* counters and messages */
    PROBE_EVERY_MS = 60000, /* a status that the cluster stores only in part */
};

void status_write_requeue(struct reconcile *request, int64_t left_ms) {
    request->again_ms = request->again_ms > 0 ? MIN(request->again_ms, left_ms) : left_ms;
}

/* Changes that people and tools wait for: neither messages nor counters. */
static bool is_transition(const json_t *before, const json_t *status) {
    const json_t *list = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        const json_t *old = object_condition(before, tree_text(condition, "type", ""));
        static const char *const fields[] = {"status", "reason"};
        for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
            if (!json_equal(json_object_get(condition, fields[k]),
                            json_object_get(old, fields[k]))) {
                return true;
            }
        }
    }
    return false;
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

/* How long the new status can wait. Counters and messages: until a second after the last write. In
 * a rush everything can wait, except the end of the job and a new Secret's name, on which other
 * writes depend; the first Secret's name, and the record of what the job began with, are on its
 * Service. A status with a field that an old definition drops is retried only rarely. */
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
    bool is_step = !is_probe && !json_equal(json_object_get(before, "credentials"),
                                            json_object_get(status, "credentials"));
    int64_t every_ms = is_probe ? PROBE_EVERY_MS : STATUS_EVERY_MS;
    int64_t due_ms = record->is_written ? record->wrote_ms + every_ms : INT64_MIN / 2;
    int64_t left_ms = is_step || is_transition(before, status) ? 0 : due_ms - request->monotonic_ms;
    return MAX(left_ms, request->overload_ms);
}

bool status_write(struct reconcile *request, const struct status_write_record *record,
                  json_t *status) {
    const json_t *before = json_object_get(request->object, "status");
    if (!status || json_equal(before, status)) {
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
            .is_written = true,
            .wrote_ms = clock_monotonic_ms(),
            .dropped = conditions_dropped(written->object, written->stored)};
    }
}
