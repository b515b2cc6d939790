// SPDX-License-Identifier: Apache-2.0
/* Which failures are a trial's own, which of them are alike, and which trial it is without its
 * annotation. */
#include "operator/kinds/sweep/trial_row.h"

#include "operator/kinds/disttrain/cache_transform.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static struct trial_row row_of(const char *name, const char *reason, const char *message) {
    static const char parameters[] = "[{\"name\": \"A\", \"randint\": {\"upper\": 7}}]";
    AUTO(tree_freep) json_t *json = json_loads(parameters, 0, NULL);
    struct space space;
    struct error err = {0};
    struct trial_row row = {0};
    CHECK_OK(space_read(json, &space, &err), &err);
    AUTO(tree_freep)
    json_t *trial = json_pack(
        "{s:{s:s, s:{s:s}}, s:{s:[{s:s, s:s, s:s, s:s}]}}", "metadata", "name", name, "annotations",
        "windlass.dev/trial", "{\"index\": 3, \"values\": {\"A\": \"3\"}}", "status", "conditions",
        "type", "Succeeded", "status", strcmp(reason, "Completed") == 0 ? "True" : "False",
        "reason", reason, "message", message);
    CHECK(trial_row_read(trial, &space, "loss", &row));
    return row;
}

static void test_whose_failure(void) {
    static const struct {
        const char *reason;
        bool is_own;
    } rows[] = {
        {"RankFailed", true},   {"OutOfMemory", true},      {"Hung", true},
        {"SpecInvalid", true},  {"CommandNotFound", true},  {"PrepareFailed", true},
        {"InputInvalid", true}, {"DeadlineExceeded", true}, {"Completed", true}, /* silent */
        {"Failed", false},      {"ObjectRefused", false},   {"Stopped", false},
        {"Unreachable", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(trial_row_release) struct trial_row row = row_of("s-0003", rows[i].reason, "why");
        CHECK_INT(row.is_own_failure, rows[i].is_own);
        CHECK_INT(*row.alike != 0, rows[i].is_own);
    }
}

static void test_alike(void) {
    static const struct {
        const char *message, *alike;
    } rows[] = {
        {"worker 0, rank 0 ended with exit code 3: lr 0.001 of s-0003 at 1e-5",
         "RankFailed: worker #, rank # ended with exit code 3: lr # of @ at #"},
        {"ended with exit code 137 (128 + signal 9: killed)",
         "RankFailed: ended with exit code 137 (# + signal #: killed)"},
        {"", "RankFailed: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(trial_row_release)
        struct trial_row row = row_of("s-0003", "RankFailed", rows[i].message);
        CHECK_STR(row.alike, rows[i].alike);
    }
}

static void test_has_a_bound(void) {
    char message[2000];
    memset(message, 'x', sizeof message - 1);
    message[sizeof message - 1] = 0;
    AUTO(trial_row_release) struct trial_row row = row_of("s-0003", "RankFailed", message);
    CHECK_INT(strlen(row.alike), TRIAL_ALIKE_MAX - 1);
}

/* A finished trial as the API server has it, and as it is in the cache. */
static json_t *as_finished(json_t *trial, int observed) {
    json_object_set_new(json_object_get(trial, "metadata"), "generation", json_integer(observed));
    json_object_set_new(json_object_get(trial, "status"), "conditions",
                        json_pack("[{s:s, s:s}]", "type", "Succeeded", "status", "True"));
    json_t *kept = disttrain_transform(trial);
    json_object_set(json_object_get(kept, "metadata"), "name", tree_get(trial, "metadata.name"));
    return kept;
}

static void check_row(const json_t *trial, const struct space *space, int64_t index) {
    AUTO(trial_row_release) struct trial_row row = {0};
    CHECK_INT(trial_row_read(trial, space, "loss", &row), index >= 0);
    CHECK_INT(row.name ? row.index : -1, index);
    if (index >= 0) {
        AUTO(text_freep) char *values = tree_canonical(row.values);
        CHECK_STR(values, "{\"A\":\"5\"}");
        CHECK(row.best > 0.4 && row.best < 0.6);
    }
}

/* Each row: what somebody left of the annotation, and the trial: with its owner and its name it is
 * known, once it has begun; also when it has ended. */
static void test_without_its_annotation(void) {
    static const char parameters[] = "[{\"name\": \"A\", \"randint\": {\"upper\": 7}}, "
                                     "{\"name\": \"B\", \"choice\": [\"x\", \"y\"]}]";
    static const struct {
        const char *annotation, *owner, *name;
        int observed;
        int64_t index; /* -1: it is not one */
    } rows[] = {
        {NULL, "Sweep", "s-0003", 1, 3},
        {NULL, "Sweep", "s-0003-c", 1, 3},
        {"nonsense", "Sweep", "s-0003", 1, 3},
        {"{\"index\": 7, \"values\": {}}", "Sweep", "s-0003", 1, 3},
        {"{\"index\": 7, \"values\": {}}", "Sweep", "s-0003-c", 1, 3},
        {"{\"index\": 3, \"values\": 5}", "Sweep", "s-0003", 1, 3},
        {NULL, "Sweep", "s-0003", -1, -1}, /* it has not begun, and does not */
        {NULL, "Sweep", "s-3", 1, -1},
        {NULL, "Sweep", "s-0003-cc", 1, -1},
        {NULL, "Sweep", "other-0003", 1, -1},
        {NULL, "Sweep", "s-99999999999999999999", 1, -1},
        {NULL, "Other", "s-0003", 1, -1},
    };
    AUTO(tree_freep) json_t *json = json_loads(parameters, 0, NULL);
    struct space space;
    struct error err = {0};
    CHECK_OK(space_read(json, &space, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep)
        json_t *trial = json_pack(
            "{s:{s:s, s:{s:s*}, s:[{s:s, s:s, s:b}]}, s:{s:{s:s, s:s}}, s:{s:i, s:{s:s}}}",
            "metadata", "name", rows[i].name, "annotations", "windlass.dev/trial",
            rows[i].annotation, "ownerReferences", "kind", rows[i].owner, "name", "s", "controller",
            1, "spec", "environment", "PARAM_A", "5", "OTHER", "6", "status", "observedGeneration",
            rows[i].observed, "objective", "best", "0.5");
        check_row(trial, &space, rows[i].index);
        AUTO(tree_freep) json_t *kept = as_finished(trial, rows[i].observed);
        check_row(kept, &space, rows[i].index);
    }
}

int main(void) {
    TEST(test_whose_failure);
    TEST(test_alike);
    TEST(test_has_a_bound);
    TEST(test_without_its_annotation);
    return TEST_END();
}
