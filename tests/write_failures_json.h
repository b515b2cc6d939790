/* write_failures_json.h: write failures as tests write them: {"Pod NAME": {"why": "Denied", "text":
 * "...", "passing": true}, "change of DistTrain NAME": ..., "deletion of Pod NAME": ...}. */
#pragma once

#include "lib/tree.h"
#include "operator/kinds/job/write_failure.h"
#include "tests/test.h"

#include <string.h>

enum { WRITE_FAILURES_JSON_MAX = 128 };

/* Texts are borrowed from the names and values, but for the kinds, which are literals. */
static inline struct object_key object_key_from(const char *text) {
    static const char *const kinds[] = {"Pod",       "Service",    "Secret",   "PodGroup",
                                        "DistTrain", "BatchScore", "Workload", "Sweep"};
    const char *space = strchr(text, ' ');
    for (size_t i = 0; space && i < ARRAY_LEN(kinds); i++) {
        if (strlen(kinds[i]) == (size_t)(space - text) && text_starts(text, kinds[i])) {
            return (struct object_key){kinds[i], space + 1};
        }
    }
    CHECK(!"a kind and a name");
    return (struct object_key){"?", text};
}

/* Fills in `at`; the result is borrowed from it and from `from`, which may be NULL. */
static inline struct write_failures
write_failures_from(const json_t *from, struct write_failure at[static WRITE_FAILURES_JSON_MAX]) {
    static const char *const names[] = {
        [WRITE_FAILURE_LEAVING] = "Leaving", [WRITE_FAILURE_TAKEN] = "Taken",
        [WRITE_FAILURE_HELD] = "Held",       [WRITE_FAILURE_UNKNOWN] = "Unknown",
        [WRITE_FAILURE_DENIED] = "Denied",   [WRITE_FAILURE_REFUSED] = "Refused",
        [WRITE_FAILURE_MISSING] = "Missing"};
    static const char change[] = "change of ", deletion[] = "deletion of ";
    struct write_failures list = {.at = at};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)from, name, value) {
        CHECK(list.count < WRITE_FAILURES_JSON_MAX);
        bool is_change = text_starts(name, change), is_deletion = text_starts(name, deletion);
        size_t length = is_change ? strlen(change) : is_deletion ? strlen(deletion) : 0;
        at[list.count++] = (struct write_failure){
            .object = object_key_from(name + length),
            .is_change = is_change,
            .is_deletion = is_deletion,
            .why = (enum write_failure_why)tree_choice(value, "why", names, ARRAY_LEN(names)),
            .is_passing = tree_bool(value, "passing", false),
            .text = tree_text(value, "text", "")};
    }
    return list;
}
