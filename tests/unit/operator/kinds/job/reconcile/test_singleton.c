// SPDX-License-Identifier: Apache-2.0
/* A pod of which two must not run and that the job sees no more: what its successor waits for. */
#include "operator/kinds/job/reconcile/singleton.h"

#include "lib/time/clock.h"
#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static struct {
    struct cluster cluster;
    struct queries *queries;
    struct retry_pace *pace;
    struct singleton singleton;
    int64_t now_ms;
    const json_t *there;        /* what the cluster answers; NULL: none */
    enum error_kind fails;      /* a question */
    enum write_failure_why why; /* of what is held */
    cluster_done *done;         /* of the question that is under way */
    void *context;
    int asked;
} world;

static void keep_list(struct cluster *cluster UNUSED, const json_t *like, const char *fields UNUSED,
                      cluster_done *done, void *context) {
    CHECK_STR(tree_text(like, "metadata.name", ""), "a-0-2");
    world.done = done;
    world.context = context;
    world.asked++;
}

static void answer(void) {
    struct error err = {0};
    cluster_done *done = TAKE(world.done);
    AUTO(tree_freep) json_t *list = json_pack("{s:[O*]}", "items", world.there);
    if (world.fails) {
        error_set(&err, world.fails, "as asked");
    }
    if (done) {
        done(world.context, world.fails ? NULL : list, world.fails ? &err : NULL);
    }
}

static void on_answer(void *context UNUSED, const struct query *query, const json_t *list UNUSED,
                      const json_t *object, const struct error *err) {
    struct found found = {"default", "a", query->like, object, err};
    singleton_found(&world.singleton, &found, "u-1");
}

static bool is_hub(const json_t *pod) {
    return text_starts(tree_text(pod, "metadata.name", ""), "a-0");
}

static void open_world(void) {
    static const struct cluster_ops ops = {.list = keep_list};
    memset(&world, 0, sizeof world);
    world.cluster.ops = &ops;
    world.queries = queries_new(&world.cluster, on_answer, NULL);
    world.pace = retry_pace_new();
    world.now_ms = clock_monotonic_ms();
    world.why = WRITE_FAILURE_HELD;
}

static void close_world(void) {
    singleton_release(&world.singleton);
    queries_free(world.queries);
    retry_pace_free(world.pace);
}

/* A pass in which the job sees these pods and would make the next first one. Returns the number of
 * pods that it may make; below 0: it is not carried out. */
static int pass(const char *pods_text, const char *last) {
    static const char key[] = "DistTrain default/a";
    AUTO(tree_freep) json_t *pods = parse(pods_text);
    AUTO(tree_freep)
    json_t *create = parse("[{'metadata': {'name': 'a-1'}}, {'metadata': {'name': 'a-0-3', "
                           "'annotations': {'windlass.dev/alone': 'true'}}}]");
    struct reconcile request = {.kind = "DistTrain",
                                .namespace = "default",
                                .name = "a",
                                .monotonic_ms = world.now_ms,
                                .queries = world.queries,
                                .pace = world.pace};
    (void)retry_pace_take(world.pace, world.now_ms);
    singleton_note(&world.singleton, pods, is_hub, last);
    const struct write_failure *held = singleton_held(&world.singleton);
    CHECK(!held || (held->why == world.why && strcmp(held->object.name, "a-0-2") == 0));
    bool is_carried_out = singleton_filter(&request, &world.singleton, create);
    retry_pace_passed(world.pace, key);
    if (request.is_retry) {
        retry_pace_ended(world.pace, key, RETRY_UNKNOWN);
    }
    answer();
    return is_carried_out ? (int)json_array_size(create) : -1;
}

static const char runs[] =
    "[{'metadata': {'name': 'a-0-2', 'uid': 'p-2'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': "
    "'Running'}}]";
static const char has_ended[] =
    "[{'metadata': {'name': 'a-0-2', 'uid': 'p-2'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': "
    "'Failed', 'containerStatuses': [{'name': 'agent', 'state': {'terminated': {'exitCode': 1}}}]}"
    "}]";

static void test_one_that_has_ended(void) {
    open_world();
    CHECK_INT(pass("[]", NULL), 2); /* the first of all */
    CHECK_INT(pass(runs, NULL), 2); /* for the plan to decide */
    CHECK_INT(pass(has_ended, NULL), 2);
    CHECK_INT(pass("[]", NULL), 2);
    CHECK_INT(world.asked, 0);
    close_world();
}

static void test_one_that_is_gone(void) {
    static const char *const answers[] = {
        NULL,
        "[{'metadata': {'name': 'a-0-2', 'uid': 'p-9'}, 'status': {'phase': 'Running'}}]",
        has_ended,
    };
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        AUTO(tree_freep) json_t *list = answers[i] ? parse(answers[i]) : NULL;
        open_world();
        world.there = json_array_get(list, 0);
        CHECK_INT(pass(runs, NULL), 2);
        CHECK_INT(pass("[]", NULL), -1);
        CHECK_INT(world.asked, 1);
        CHECK_INT(pass("[]", NULL), 2);
        CHECK_INT(world.asked, 1);
        close_world();
    }
}

/* The others are made meanwhile. It is asked for more and more rarely. */
static void test_one_that_may_run(void) {
    AUTO(tree_freep) json_t *list = parse(runs);
    open_world();
    world.there = json_array_get(list, 0);
    CHECK_INT(pass(runs, NULL), 2);
    CHECK_INT(pass("[]", NULL), -1);
    for (int i = 0; i < 8; i++) {
        int64_t even_ms = MIN(INT64_C(1000) << i, 60000);
        int64_t left_ms = world.singleton.delay.not_before_ms - clock_monotonic_ms();
        CHECK(left_ms > even_ms * 7 / 10 && left_ms <= even_ms * 5 / 4);
        CHECK_INT(pass("[]", NULL), 1);
        CHECK_INT(world.asked, i + 1);
        world.now_ms = world.singleton.delay.not_before_ms + INT64_C(3600000) * (i + 1);
        CHECK_INT(pass("[]", NULL), 1);
        CHECK_INT(world.asked, i + 2);
    }
    CHECK_INT(pass(runs, NULL), 2); /* it has its labels again */
    CHECK(!singleton_held(&world.singleton));
    close_world();
}

static void test_no_answer(void) {
    open_world();
    world.fails = ERROR_UNAVAILABLE;
    CHECK_INT(pass(runs, NULL), 2);
    CHECK_INT(pass("[]", NULL), -1);
    CHECK_INT(pass("[]", NULL), -1);
    CHECK_INT(world.asked, 1);
    world.fails = ERROR_NONE;
    world.now_ms = world.singleton.delay.not_before_ms + 3600000;
    CHECK_INT(pass("[]", NULL), -1);
    CHECK_INT(pass("[]", NULL), 2);
    close_world();
}

/* At once, or when it is its turn. Each pass allows this many pods. */
static void ask_once(int allowed) {
    int before = world.asked;
    for (int i = 0; i < 2 && world.asked == before; i++) {
        CHECK_INT(pass("[]", NULL), allowed);
    }
    CHECK_INT(world.asked, before + 1);
    world.now_ms = world.singleton.delay.not_before_ms + INT64_C(3600000) * world.asked;
}

/* The place stays empty, and the rest of the plan is carried out. */
static void test_no_answer_for_long(void) {
    open_world();
    world.fails = ERROR_DENIED;
    world.why = WRITE_FAILURE_UNKNOWN;
    CHECK_INT(pass(runs, NULL), 2);
    for (int tries = 1; tries <= SINGLETON_TRIES; tries++) {
        CHECK(!singleton_held(&world.singleton));
        ask_once(-1);
    }
    const struct write_failure *held = singleton_held(&world.singleton);
    CHECK(held && strstr(held->text, "as asked"));
    ask_once(1);
    world.fails = ERROR_NONE;
    ask_once(1);
    CHECK(!singleton_held(&world.singleton)); /* it is gone */
    CHECK_INT(pass("[]", NULL), 2);
    close_world();
}

/* A controller that has just started knows its name from the status: ours, if the job owns it. */
static void test_known_by_its_name(void) {
    static const struct {
        const char *owner;
        bool is_held;
    } rows[] = {{"u-1", true}, {"u-2", false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *list = parse(runs);
        json_object_set_new(tree_get(json_array_get(list, 0), "metadata"), "ownerReferences",
                            json_pack("[{s:s}]", "uid", rows[i].owner));
        open_world();
        world.there = json_array_get(list, 0);
        CHECK_INT(pass("[]", "a-0-2"), -1);
        CHECK_INT(pass("[]", NULL), rows[i].is_held ? 1 : 2);
        CHECK_INT(world.asked, 1);
        close_world();
    }
}

int main(void) {
    TEST(test_one_that_has_ended);
    TEST(test_one_that_is_gone);
    TEST(test_one_that_may_run);
    TEST(test_no_answer);
    TEST(test_no_answer_for_long);
    TEST(test_known_by_its_name);
    return TEST_END();
}
