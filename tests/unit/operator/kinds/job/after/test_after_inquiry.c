// SPDX-License-Identifier: Apache-2.0
/* A job starts, or fails, by the jobs of spec.after as the API server has them, not as the watch
 * has shown them. */
#include "operator/kinds/job/after/after_inquiry.h"

#include "lib/time/clock.h"
#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/after/after.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static struct {
    struct cluster cluster;
    struct queries *queries;
    struct retry_pace *pace;
    struct after_inquiry inquiry;
    int64_t now_ms;
    json_t *there; /* what the API server has; NULL: nothing */
    bool fails;
    cluster_done *done; /* of the question that is under way */
    void *context;
    int asked;
    struct after after; /* what the last whole pass decided */
} world;

static void keep_list(struct cluster *cluster UNUSED, const json_t *like, const char *fields UNUSED,
                      cluster_done *done, void *context) {
    CHECK_STR(tree_text(like, "apiVersion", ""), "windlass.dev/v1beta1");
    CHECK_STR(tree_text(like, "kind", ""), "DistTrain");
    world.done = done;
    world.context = context;
    world.asked++;
}

static void answer(void) {
    struct error err = {0};
    cluster_done *done = TAKE(world.done);
    AUTO(tree_freep) json_t *list = json_pack("{s:[O*]}", "items", world.there);
    if (world.fails) {
        error_set(&err, ERROR_UNAVAILABLE, "as asked");
    }
    if (done) {
        done(world.context, world.fails ? NULL : list, world.fails ? &err : NULL);
    }
}

static void on_answer(void *context UNUSED, const struct query *query, const json_t *list UNUSED,
                      const json_t *object, const struct error *err) {
    struct found found = {"default", "late", query->like, object, err};
    after_inquiry_found(&world.inquiry, &found);
}

static void open_world(const char *there) {
    static const struct cluster_ops ops = {.list = keep_list};
    memset(&world, 0, sizeof world);
    world.cluster.ops = &ops;
    world.queries = queries_new(&world.cluster, on_answer, NULL);
    world.pace = retry_pace_new();
    world.now_ms = clock_monotonic_ms();
    world.there = there ? parse(there) : NULL;
}

static void close_world(void) {
    after_inquiry_release(&world.inquiry);
    queries_free(world.queries);
    retry_pace_free(world.pace);
    json_decref(world.there);
    after_release(&world.after);
}

/* A pass in which the watch shows that; then its question is answered. */
static bool pass(const char *object_text, const char *seen) {
    static const char key[] = "BatchScore default/late";
    static const struct kind train = {.api_version = "windlass.dev/v1beta1", .name = "DistTrain"};
    static const struct kind *const kinds[] = {&train, NULL};
    AUTO(tree_freep) json_t *object = parse(object_text);
    struct after_pass pass = {.given = object, .others = parse(seen)};
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "late",
                                .object = object,
                                .monotonic_ms = world.now_ms,
                                .queries = world.queries,
                                .pace = world.pace,
                                .kinds = kinds};
    (void)retry_pace_take(world.pace, world.now_ms);
    bool is_settled = after_inquiry_settle(&world.inquiry, &request, &pass);
    retry_pace_passed(world.pace, key);
    if (request.is_retry) {
        retry_pace_ended(world.pace, key, RETRY_UNKNOWN);
    }
    if (is_settled) {
        after_release(&world.after);
        after_judge(object, pass.others, &world.after);
    }
    answer();
    json_decref(pass.others);
    return is_settled;
}

#define JOB(uid, generation, status, reason)                                                       \
    "{'kind': 'DistTrain', 'metadata': {'name': 'a', 'uid': '" uid "', 'generation': " generation  \
    "}, 'spec': {'trainer': {'output': {'path': 'data/m'}}}, 'status': {'observedGeneration': 1, " \
    "'conditions': [{'type': 'Succeeded', 'status': '" status "', 'reason': '" reason "'}]}}"
#define DONE JOB("u-1", "1", "True", "Completed")
#define FAILED JOB("u-1", "1", "False", "RankFailed")

static const char late[] = "{'kind': 'BatchScore', 'metadata': {'name': 'late'}, 'spec': {'after': "
                           "[{'name': 'a'}]}}";

static void test_what_the_server_says_counts(void) {
    static const struct {
        const char *seen, *there;
        enum after_state state;
        const char *message;
    } rows[] = {
        {"[" DONE "]", DONE, AFTER_DONE, ""},
        {"[" FAILED "]", FAILED, AFTER_FAILED, "DistTrain a has failed: RankFailed"},
        {"[" DONE "]", NULL, AFTER_WAITS, "job a does not exist"},
        {"[" FAILED "]", NULL, AFTER_WAITS, "job a does not exist"},
        {"[" DONE "]", JOB("u-2", "1", "Unknown", "Running"), AFTER_WAITS,
         "DistTrain a is Running"},
        {"[" FAILED "]", JOB("u-2", "1", "Unknown", "Running"), AFTER_WAITS,
         "DistTrain a is Running"},
        {"[" DONE "]", JOB("u-1", "2", "True", "Completed"), AFTER_WAITS,
         "DistTrain a is Completed"},
        {"[" FAILED "]", JOB("u-2", "1", "True", "Completed"), AFTER_DONE, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_world(rows[i].there);
        CHECK(!pass(late, rows[i].seen));
        for (int more = 0; more < 3; more++) {
            CHECK(pass(late, rows[i].seen));
        }
        CHECK_INT(world.asked, 1);
        CHECK_INT(world.after.state, rows[i].state);
        CHECK_STR(world.after.message, rows[i].message);
        close_world();
    }
}

static void test_what_is_not_asked(void) {
    static const char suspended[] =
        "{'kind': 'BatchScore', 'metadata': {'name': 'late'}, 'spec': {'suspend': true, 'after': "
        "[{'name': 'a'}]}}";
    open_world(DONE);
    CHECK(pass(late, "[" JOB("u-1", "1", "Unknown", "Running") "]"));
    CHECK(pass(late, "[]"));
    CHECK(pass(suspended, "[" DONE "]"));
    CHECK_INT(world.asked, 0);
    close_world();
}

/* Another version of it asks for another answer. */
static void test_a_change_is_asked_about(void) {
    open_world(DONE);
    CHECK(!pass(late, "[" FAILED "]"));
    CHECK(!pass(late, "[" DONE "]"));
    CHECK(pass(late, "[" DONE "]"));
    CHECK_INT(world.asked, 2);
    close_world();
}

static void test_a_question_that_fails(void) {
    open_world(DONE);
    world.fails = true;
    CHECK(!pass(late, "[" DONE "]"));
    for (int more = 0; more < 5; more++) {
        CHECK(pass(late, "[" DONE "]"));
    }
    CHECK_INT(world.asked, 1); /* not before its time */
    CHECK_INT(world.after.state, AFTER_WAITS);
    CHECK_STR(world.after.message, "DistTrain a is not known: the API server does not answer");
    world.fails = false;
    world.now_ms += 120000;
    CHECK(!pass(late, "[" DONE "]"));
    CHECK(pass(late, "[" DONE "]"));
    CHECK_INT(world.asked, 2);
    CHECK_INT(world.after.state, AFTER_DONE);
    close_world();
}

int main(void) {
    TEST(test_what_the_server_says_counts);
    TEST(test_what_is_not_asked);
    TEST(test_a_change_is_asked_about);
    TEST(test_a_question_that_fails);
    return TEST_END();
}
