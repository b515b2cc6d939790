/* plan_result_json.h: a plan's result as JSON, for tests that compare it with files and values:
 * {"create", "apply", "status", "delete": [{"kind", "name", "apiVersion"}], "events": [{"type",
 * "reason", "note", "of"}]}, and where they are set "needs", "more", "again_ms". */
#pragma once

#include "operator/kinds/job/plan_result.h"

/* Releases the result; the caller owns the JSON. */
static inline json_t *plan_result_json(struct plan_result *result) {
    json_t *delete = json_array(), *events = json_array();
    for (size_t i = 0; i < result->delete_count; i++) {
        const struct plan_deletion *one = &result->delete[i];
        json_array_append_new(delete,
                              json_pack("{s:s, s:s, s:s*}", "kind", one->object.kind, "name",
                                        one->object.name, "apiVersion", one->api_version));
    }
    for (size_t i = 0; i < result->event_count; i++) {
        const struct plan_event *one = &result->events[i];
        json_array_append_new(events,
                              json_pack("{s:s, s:s, s:s, s:s*}", "type", one->type, "reason",
                                        one->reason, "note", one->note, "of", one->of));
    }
    json_t *json =
        json_pack("{s:O, s:O, s:o, s:o, s:O}", "create", result->create, "apply", result->apply,
                  "delete", delete, "events", events, "status", result->status);
    if (result->needs_credentials) {
        json_object_set_new(json, "needs", json_string("Credentials"));
    }
    if (result->has_more) {
        json_object_set_new(json, "more", json_true());
    }
    if (result->again_ms) {
        json_object_set_new(json, "again_ms", json_integer(result->again_ms));
    }
    plan_result_release(result);
    return json;
}
