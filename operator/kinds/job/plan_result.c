// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan_result.h"

#include <stdlib.h>

static void clear_deletions(struct plan_result *result) {
    for (size_t i = 0; i < result->delete_count; i++) {
        object_key_release(&result->delete[i].object);
    }
    free(result->delete);
    result->delete = NULL;
    result->delete_count = 0;
}

void plan_result_release(struct plan_result *result) {
    clear_deletions(result);
    for (size_t i = 0; i < result->event_count; i++) {
        free(result->events[i].reason);
        free(result->events[i].note);
        free(result->events[i].of);
    }
    free(result->events);
    json_decref(result->create);
    json_decref(result->apply);
    json_decref(result->status);
    *result = (struct plan_result){0};
}

void plan_result_clear(struct plan_result *result) {
    json_array_clear(result->create);
    json_array_clear(result->apply);
    clear_deletions(result);
}

void plan_result_delete(struct plan_result *result, const char *api_version,
                        struct object_key key) {
    size_t count = result->delete_count + 1;
    result->delete = x_realloc_array(result->delete, count, sizeof *result->delete);
    result->delete[count - 1] = (struct plan_deletion){object_key_copy(key), api_version};
    result->delete_count = count;
}

bool plan_result_deletes(const struct plan_result *result, struct object_key key) {
    for (size_t i = 0; i < result->delete_count; i++) {
        if (object_key_equal(result->delete[i].object, key)) {
            return true;
        }
    }
    return false;
}

void plan_result_add_event(struct plan_result *result, const struct plan_event *event) {
    size_t count = result->event_count + 1;
    result->events = x_realloc_array(result->events, count, sizeof *result->events);
    result->events[count - 1] = (struct plan_event){.type = event->type,
                                                    .reason = x_strdup(event->reason),
                                                    .note = x_strdup(event->note),
                                                    .of = event->of ? x_strdup(event->of) : NULL};
    result->event_count = count;
}
