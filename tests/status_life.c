// SPDX-License-Identifier: Apache-2.0
#include "tests/status_life.h"

#include "lib/text/text_list.h"
#include "operator/object.h"
#include "tests/test.h"

#include <stdlib.h>

static const char *text_of(const json_t *status, const char *type, const char *field) {
    return tree_text(object_condition(status, type), field, "");
}

static bool is_true(const json_t *status, const char *type) {
    return strcmp(text_of(status, type, "status"), "True") == 0;
}

/* What each kind of tool takes for an end, and for a failure. */
static void check_one(const json_t *status) {
    const char *summary = text_of(status, "Succeeded", "status");
    CHECK_INT(is_true(status, "Complete"), strcmp(summary, "True") == 0);
    CHECK_INT(is_true(status, "Failed"), strcmp(summary, "False") == 0);
    CHECK(!is_true(status, "Stalled") || !is_true(status, "Reconciling"));
    CHECK(!is_true(status, "Stalled") || !is_true(status, "Complete"));
    if (strcmp(summary, "Unknown") != 0) {
        CHECK(!is_true(status, "Reconciling") && !is_true(status, "Waiting"));
        CHECK(!is_true(status, "Suspended"));
        CHECK(tree_get(status, "completionTime") != NULL);
    }
    size_t i;
    const json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        const char *type = tree_text(condition, "type", "?");
        CHECK(tree_find(json_object_get(status, "conditions"), "type", type) == condition);
        CHECK(*tree_text(condition, "reason", "") && *tree_text(condition, "message", ""));
        CHECK(*tree_text(condition, "lastTransitionTime", ""));
    }
}

/* The column State: once a job has run, it shows nothing that comes before. */
static void check_state(const json_t *before, const json_t *status) {
    static const char *const later[] = {"Running", "Joining", "Stopping", "Registering", NULL};
    const char *was = text_of(before, "Succeeded", "reason");
    const char *is = text_of(status, "Succeeded", "reason");
    bool goes_on = strcmp(text_of(status, "Succeeded", "status"), "Unknown") == 0;
    if (goes_on && text_list_has(later, was) && !text_list_has(later, is) &&
        !is_true(status, "Suspended")) {
        printf("# State fell from %s to %s\n", was, is);
        test_failures++;
    }
}

static void check_times(const json_t *before, const json_t *status) {
    size_t i;
    const json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        const char *type = tree_text(condition, "type", "");
        const char *since = tree_text(condition, "lastTransitionTime", "");
        if (strcmp(text_of(before, type, "status"), tree_text(condition, "status", "")) == 0) {
            CHECK_STR(since, text_of(before, type, "lastTransitionTime"));
        }
    }
}

static void check_end(const json_t *before, const json_t *status) {
    static const char *const ends[] = {"Complete", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (is_true(before, ends[i])) {
            CHECK(is_true(status, ends[i]));
            CHECK_STR(text_of(status, ends[i], "reason"), text_of(before, ends[i], "reason"));
        }
    }
}

/* What tools read: types, statuses and reasons. */
static bool is_same_to_tools(const json_t *before, const json_t *status) {
    const json_t *list = json_object_get(status, "conditions");
    bool same = json_array_size(list) == json_array_size(json_object_get(before, "conditions"));
    for (size_t i = 0; same && i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        const char *type = tree_text(condition, "type", "");
        same = strcmp(tree_text(condition, "status", ""), text_of(before, type, "status")) == 0 &&
               strcmp(tree_text(condition, "reason", ""), text_of(before, type, "reason")) == 0;
    }
    return same;
}

static void record(const json_t *object, const json_t *before, const json_t *status) {
    static int life;
    const char *path = getenv("LIVES");
    life += !tree_get(before, "conditions");
    if (!path || is_same_to_tools(before, status)) {
        return;
    }
    AUTO(tree_freep)
    json_t *line = json_pack(
        "{s:s, s:i, s:I, s:O}", "kind", tree_text(object, "kind", ""), "life", life, "generation",
        (json_int_t)tree_integer(object, "metadata.generation", 1), "status", status);
    AUTO(text_freep) char *text = json_dumps(line, JSON_COMPACT);
    FILE *file = fopen(path, "ae");
    CHECK(file && fprintf(file, "%s\n", text) > 0);
    CHECK(file && fclose(file) == 0);
}

static void check_all(const json_t *before, const json_t *status) {
    check_one(status);
    check_state(before, status);
    check_times(before, status);
    check_end(before, status);
}

int status_life_store(json_t *object, json_t *status) {
    const json_t *before = json_object_get(object, "status");
    if (!status) {
        return 0;
    }
    test_failures = test_failures_total = *test_skip_reason = 0;
    check_all(before, status);
    record(object, before, status);
    json_object_set(object, "status", status);
    return test_failures;
}
