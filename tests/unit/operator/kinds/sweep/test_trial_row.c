// SPDX-License-Identifier: Apache-2.0
/* Which failures are a trial's own, and which of them are alike. */
#include "operator/kinds/sweep/trial_row.h"

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

int main(void) {
    TEST(test_whose_failure);
    TEST(test_alike);
    TEST(test_has_a_bound);
    return TEST_END();
}
