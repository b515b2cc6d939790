// SPDX-License-Identifier: Apache-2.0
/* A write that failed is not asked for before its time, whatever happens to other objects. */
#include "operator/kinds/job/reconcile/refusals.h"

#include "lib/time/clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static json_t *pod_named(const char *name) {
    return json_pack("{s:s, s:{s:s}}", "kind", "Pod", "metadata", "name", name);
}

/* ERROR_NONE: success. */
static void tell(struct refusals *record, const json_t *object, enum cluster_verb verb,
                 enum error_kind kind) {
    struct error err = {0};
    struct written written = {.verb = verb, .object = object};
    if (kind) {
        error_set(&err, kind, "because");
        written.err = &err;
    }
    refusals_note(record, &written);
}

/* How long a write of that object has to wait. */
static int64_t left_ms_of(const struct refusals *record, const json_t *object, enum refusal_of of,
                          int64_t now_ms) {
    struct retry_delay delay = refusals_delay_of(record, object, of);
    CHECK_INT(delay.failures > 0, delay.not_before_ms > 0);
    return MAX(delay.not_before_ms - now_ms, 0);
}

static void test_the_wait_grows_to_a_minute(void) {
    static const int64_t even_ms[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000};
    struct refusals record = {0};
    AUTO(tree_freep) json_t *pod = pod_named("a-0");
    int64_t now_ms = clock_monotonic_ms();
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), 0);
    for (size_t i = 0; i < ARRAY_LEN(even_ms); i++) {
        tell(&record, pod, CLUSTER_CREATE, ERROR_CONFLICT);
        int64_t left_ms = left_ms_of(&record, pod, REFUSAL_OF_CREATION, clock_monotonic_ms());
        CHECK(left_ms >= even_ms[i] * 3 / 4 - 100 && left_ms <= even_ms[i] * 5 / 4);
    }
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms + 200000), 0);
    refusals_release(&record);
}

/* Every kind of failure counts, and each kind of write for itself. */
static void test_each_failure_counts(void) {
    static const enum error_kind kinds[] = {ERROR_CONFLICT,    ERROR_DENIED,  ERROR_INVALID,
                                            ERROR_UNAVAILABLE, ERROR_TIMEOUT, ERROR_NOT_FOUND,
                                            ERROR_BUSY,        ERROR_GONE};
    AUTO(tree_freep) json_t *pod = pod_named("a-0");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct refusals record = {0};
        int64_t now_ms = clock_monotonic_ms();
        tell(&record, pod, CLUSTER_CREATE, kinds[i]);
        CHECK(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms) > 0);
        CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_DELETION, now_ms), 0);
        tell(&record, pod, CLUSTER_DELETE, kinds[i]);
        CHECK(left_ms_of(&record, pod, REFUSAL_OF_DELETION, now_ms) > 0);
        CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CHANGE, now_ms), 0);
        refusals_release(&record);
    }
}

/* A pass of the job with that generation. Returns in how many ms it asks for the next one. */
static int64_t begin(struct refusals *record, int64_t generation) {
    AUTO(tree_freep) json_t *job = json_pack("{s:{s:I}}", "metadata", "generation", generation);
    struct reconcile request = {.object = job, .monotonic_ms = clock_monotonic_ms()};
    refusals_begin(record, &request);
    return request.again_ms;
}

/* Other objects' successes and other deletions do not shorten it; its own success and another
 * generation of the job do. */
static void test_what_ends_the_wait(void) {
    struct refusals record = {0};
    AUTO(tree_freep) json_t *pod = pod_named("a-0");
    AUTO(tree_freep) json_t *other = pod_named("a-1");
    int64_t now_ms = clock_monotonic_ms();
    begin(&record, 1);
    tell(&record, pod, CLUSTER_CREATE, ERROR_CONFLICT);
    int64_t left_ms = left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms);
    CHECK(left_ms > 0);
    tell(&record, other, CLUSTER_CREATE, ERROR_NONE);
    tell(&record, pod, CLUSTER_DELETE, ERROR_NONE);
    begin(&record, 1);
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), left_ms);
    begin(&record, 2);
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), 0);
    tell(&record, pod, CLUSTER_CREATE, ERROR_CONFLICT);
    CHECK(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms) > 0);
    tell(&record, pod, CLUSTER_CREATE, ERROR_NONE);
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), 0);
    refusals_release(&record);
}

/* One generation after the other does so less and less often, and not where nothing failed. */
static void test_generations_that_follow_each_other(void) {
    struct refusals record = {0};
    AUTO(tree_freep) json_t *pod = pod_named("a-0");
    int64_t now_ms = clock_monotonic_ms();
    for (int generation = 1; generation < 10; generation++) {
        CHECK_INT(begin(&record, generation), 0);
    }
    tell(&record, pod, CLUSTER_CREATE, ERROR_DENIED);
    CHECK_INT(begin(&record, 10), 0);
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), 0);
    tell(&record, pod, CLUSTER_CREATE, ERROR_DENIED);
    CHECK(begin(&record, 11) > 0);
    CHECK(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms) > 0);
    record.forgot.last_ms -= 1000; /* a second later */
    CHECK_INT(begin(&record, 11), 0);
    CHECK_INT(left_ms_of(&record, pod, REFUSAL_OF_CREATION, now_ms), 0);
    tell(&record, pod, CLUSTER_CREATE, ERROR_DENIED);
    record.forgot.times = 100;
    int64_t left_ms = begin(&record, 12);
    CHECK(left_ms > 150000 && left_ms <= 180000);
    record.forgot.last_ms -= 600000;
    CHECK_INT(begin(&record, 12), 0);
    refusals_release(&record);
}

static json_t *trial_change(bool is_suspended, const char *stop) {
    return json_pack("{s:s, s:{s:s, s:s}, s:{s:b, s:s*}}", "kind", "DistTrain", "metadata", "name",
                     "s-0001", "uid", "u-1", "spec", "suspend", is_suspended, "stop", stop);
}

/* The same change, which somebody takes back all the time, waits longer each time; another one does
 * not, and after it the wait begins anew. */
static void test_only_the_same_change_waits(void) {
    static const int64_t waits_ms[] = {1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 180000};
    struct refusals record = {0};
    AUTO(tree_freep) json_t *resume = trial_change(false, NULL);
    AUTO(tree_freep) json_t *pause = trial_change(true, NULL);
    AUTO(tree_freep) json_t *stop = trial_change(false, "late");
    struct written written = {.verb = CLUSTER_APPLY, .object = resume};
    CHECK_INT(refusals_changed_left_ms(&record, resume, clock_monotonic_ms()), 0);
    for (size_t i = 0; i < ARRAY_LEN(waits_ms); i++) {
        int64_t before_ms = clock_monotonic_ms();
        refusals_note_change(&record, &written);
        int64_t after_ms = clock_monotonic_ms();
        CHECK(refusals_changed_left_ms(&record, resume, before_ms) >= waits_ms[i]);
        CHECK_INT(refusals_changed_left_ms(&record, resume, after_ms + waits_ms[i]), 0);
        CHECK_INT(refusals_changed_left_ms(&record, pause, before_ms), 0);
        CHECK_INT(refusals_changed_left_ms(&record, stop, before_ms), 0);
    }
    written.object = pause;
    refusals_note_change(&record, &written);
    int64_t now_ms = clock_monotonic_ms();
    CHECK_INT(refusals_changed_left_ms(&record, resume, now_ms), 0);
    CHECK(refusals_changed_left_ms(&record, pause, now_ms - 1) > 0);
    CHECK_INT(refusals_changed_left_ms(&record, pause, now_ms + waits_ms[0]), 0);
    refusals_release(&record);
}

/* Somebody toggles the suspension all the time: each change is another one than the last. Twelve
 * are written at once, and then one each 15 s. */
static void test_changes_in_turn_become_rare(void) {
    enum { AT_ONCE = 12, PAUSE_MS = 15000 };
    struct refusals record = {0};
    AUTO(tree_freep) json_t *resume = trial_change(false, NULL);
    AUTO(tree_freep) json_t *pause = trial_change(true, NULL);
    AUTO(tree_freep) json_t *pod = pod_named("a-0");
    for (int i = 0; i < AT_ONCE + 3; i++) {
        json_t *next = i % 2 == 0 ? pause : resume;
        int64_t now_ms = clock_monotonic_ms(), wait_ms = i < AT_ONCE ? 0 : PAUSE_MS;
        int64_t left_ms = refusals_changed_left_ms(&record, next, now_ms);
        CHECK(left_ms <= wait_ms && (i < AT_ONCE || left_ms > 0));
        CHECK_INT(refusals_changed_left_ms(&record, next, now_ms + wait_ms), 0);
        struct written written = {.verb = CLUSTER_APPLY, .object = next};
        refusals_note_change(&record, &written);
        tell(&record, pod, CLUSTER_CREATE, ERROR_CONFLICT);
        begin(&record, i + 1); /* a new generation forgets what was refused, and nothing else */
    }
    refusals_release(&record);
}

/* A pod whose request is above a LimitRange's default limit is denied for now; one that breaks its
 * own limit is refused. */
static void test_a_limit_range_denies(void) {
    static const char said[] =
        "Pod \"a-0\" is invalid: spec.containers[0].resources.requests: "
        "Invalid value: \"256Mi\": must be less than or equal to memory limit";
    static const struct {
        const char *limit, *text;
        enum write_failure_why why;
    } rows[] = {
        {NULL, said, WRITE_FAILURE_DENIED},
        {"cpu", said, WRITE_FAILURE_DENIED},
        {"memory", said, WRITE_FAILURE_REFUSED},
        {NULL, "Pod \"a-0\" is invalid: spec.x: Invalid value", WRITE_FAILURE_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct refusals record = {0};
        AUTO(tree_freep) json_t *pod = pod_named("a-0");
        json_t *limits = json_object();
        if (rows[i].limit) {
            json_object_set_new(limits, rows[i].limit, json_string("1"));
        }
        json_object_set_new(
            pod, "spec", json_pack("{s:[{s:{s:o}}]}", "containers", "resources", "limits", limits));
        struct error err = {0};
        error_set(&err, ERROR_INVALID, "%s", rows[i].text);
        struct written written = {.verb = CLUSTER_CREATE, .object = pod, .err = &err};
        refusals_note(&record, &written);
        struct write_failures list = refusals_of(&record);
        CHECK_INT(list.count, 1);
        CHECK_INT(list.at[0].why, rows[i].why);
        CHECK(!list.at[0].is_passing);
        CHECK_INT(record.denied, rows[i].why == WRITE_FAILURE_DENIED);
        free(list.at);
        refusals_release(&record);
    }
}

/* A webhook or a server that fails once concerns no one; one that goes on failing keeps the job
 * from beginning, and its user must read why. So it is with one that fails to change or delete an
 * object. */
static void test_what_goes_on_failing(void) {
    static const enum error_kind kinds[] = {ERROR_UNAVAILABLE, ERROR_TIMEOUT, ERROR_BUSY,
                                            ERROR_GONE};
    static const enum cluster_verb verbs[] = {CLUSTER_CREATE, CLUSTER_DELETE, CLUSTER_APPLY};
    for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(verbs); i++) {
        struct refusals record = {0};
        enum cluster_verb verb = verbs[i % ARRAY_LEN(verbs)];
        AUTO(tree_freep) json_t *pod = pod_named("a-0");
        struct error err = {0};
        error_set(&err, kinds[i / ARRAY_LEN(verbs)], "failed calling webhook w");
        struct written written = {.verb = verb, .object = pod, .err = &err};
        for (int failures = 1; failures <= 4; failures++) {
            if (verb == CLUSTER_APPLY) {
                refusals_note_change(&record, &written);
            } else {
                refusals_note(&record, &written);
            }
            struct write_failures list = refusals_of(&record);
            CHECK_INT(list.count, failures >= 3);
            if (list.count > 0) {
                CHECK_INT(list.at[0].is_change, verb == CLUSTER_APPLY);
                CHECK_INT(list.at[0].is_deletion, verb == CLUSTER_DELETE);
                CHECK_INT(list.at[0].why, WRITE_FAILURE_DENIED);
                CHECK(list.at[0].is_passing);
                CHECK_STR(list.at[0].text, "failed calling webhook w");
            }
            free(list.at);
        }
        refusals_release(&record);
    }
}

int main(void) {
    TEST(test_the_wait_grows_to_a_minute);
    TEST(test_each_failure_counts);
    TEST(test_what_ends_the_wait);
    TEST(test_generations_that_follow_each_other);
    TEST(test_only_the_same_change_waits);
    TEST(test_changes_in_turn_become_rare);
    TEST(test_a_limit_range_denies);
    TEST(test_what_goes_on_failing);
    return TEST_END();
}
