// SPDX-License-Identifier: Apache-2.0
/* Pods that vanished from a job: what is ours and lost its labels is released, all else is left. */
#include "operator/kinds/job/reconcile/relabelled.h"

#include "lib/time/clock.h"
#include "operator/control/claim.h"
#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/reconcile/pods_seen.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static struct {
    struct cluster cluster;
    struct queries *queries;
    struct retry_pace *pace;
    struct cache *cache;
    struct pods_seen seen;
    struct relabelled relabelled;
    int64_t now_ms;
    const json_t *there;   /* what the cluster answers; NULL: none */
    enum error_kind fails; /* a question */
    enum error_kind fails_write;
    cluster_done *done; /* of the question that is under way */
    void *context;
    json_t *name; /* that was asked for */
    int asked, released;
} world;

static void keep_list(struct cluster *cluster UNUSED, const json_t *like, const char *fields UNUSED,
                      cluster_done *done, void *context) {
    json_decref(world.name);
    world.name = json_incref(tree_get(like, "metadata.name"));
    world.done = done;
    world.context = context;
    world.asked++;
}

static void answer(void) {
    struct error err = {0};
    cluster_done *done = TAKE(world.done);
    AUTO(tree_freep) json_t *there = json_deep_copy(world.there);
    AUTO(tree_freep) json_t *list = json_pack("{s:[O*]}", "items", there);
    json_object_set(json_object_get(there, "metadata"), "name", world.name);
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
    relabelled_found(&world.relabelled, &found);
}

static void open_world(void) {
    static const struct cluster_ops ops = {.list = keep_list};
    memset(&world, 0, sizeof world);
    world.cluster.ops = &ops;
    world.queries = queries_new(&world.cluster, on_answer, NULL);
    world.pace = retry_pace_new();
    world.cache = cache_new();
    world.now_ms = clock_monotonic_ms();
}

static void close_world(void) {
    relabelled_release(&world.relabelled);
    pods_seen_release(&world.seen);
    queries_free(world.queries);
    retry_pace_free(world.pace);
    cache_free(world.cache);
    json_decref(world.name);
}

static void send(const json_t *writes) {
    for (size_t i = 0; i < json_array_size(writes); i++) {
        struct error err = {0};
        const json_t *object = json_object_get(json_array_get(writes, i), "object");
        CHECK_INT(tree_integer(json_array_get(writes, i), "verb", -1), CLUSTER_MERGE);
        CHECK_INT(json_array_size(tree_get(object, "metadata.ownerReferences")), 0);
        CHECK(json_is_null(
            json_object_get(tree_get(object, "metadata.annotations"), ANNOTATION_UID)));
        if (world.fails_write) {
            error_set(&err, world.fails_write, "as asked");
        }
        struct written written = {"default", "a",  CLUSTER_MERGE,
                                  object,    NULL, world.fails_write ? &err : NULL};
        relabelled_note_change(&world.relabelled, &written);
        world.released++;
    }
}

/* A pass in which the job sees these pods; then all that it asked for is answered. */
static void pass(const char *pods_text, const char *but) {
    static const char key[] = "BatchScore default/a";
    AUTO(tree_freep) json_t *pods = parse(pods_text);
    AUTO(tree_freep) json_t *owner = parse("{'metadata': {'name': 'a', 'uid': 'u-1'}}");
    AUTO(tree_freep) json_t *writes = json_array();
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .object = owner,
                                .cache = world.cache,
                                .monotonic_ms = world.now_ms,
                                .writes = writes,
                                .queries = world.queries,
                                .pace = world.pace};
    (void)retry_pace_take(world.pace, world.now_ms);
    relabelled_leave_out(&world.relabelled, pods, "a", "member");
    pods_seen_note(&world.seen, pods, world.now_ms, world.now_ms);
    relabelled_note(&world.relabelled, world.seen.vanished, but);
    relabelled_settle(&request, &world.relabelled, "member");
    retry_pace_passed(world.pace, key);
    if (request.is_retry) {
        retry_pace_ended(world.pace, key, RETRY_UNKNOWN);
    }
    send(writes);
    answer();
}

static const char runs[] = "[{'metadata': {'name': 'a-0-2'}, 'status': {'phase': 'Running'}}]";
static const char is_ours[] =
    "{'metadata': {'name': 'a-0-2', 'uid': 'p', 'annotations': {'windlass.dev/uid': 'u-1'}, "
    "'ownerReferences': [{'uid': 'u-1', 'controller': true}]}, 'status': {'phase': 'Running'}}";

static void test_one_that_is_ours(void) {
    AUTO(tree_freep) json_t *there = parse(is_ours);
    open_world();
    world.there = there;
    pass(runs, NULL);
    CHECK_INT(world.asked, 0);
    pass("[]", NULL);
    CHECK_INT(world.asked, 1);
    pass("[]", NULL);
    CHECK_INT(world.released, 1);
    for (int i = 0; i < 3; i++) {
        pass("[]", NULL);
    }
    CHECK_INT(world.asked, 1);
    CHECK_INT(world.released, 1);
    close_world();
}

/* The watch shows it, as one of another job. */
static void test_one_with_the_label_of_another_job(void) {
    AUTO(tree_freep) json_t *there = parse(is_ours);
    json_t *labels = tree_ensure_object(json_object_get(there, "metadata"), "labels");
    json_object_set_new(labels, "windlass.dev/job", json_string("b"));
    json_object_set_new(there, "kind", json_string("Pod"));
    open_world();
    cache_watch(world.cache, "v1", "Pod", (struct cache_rules){0});
    cache_put(world.cache, there);
    world.there = there;
    pass(runs, NULL);
    pass("[]", NULL);
    pass("[]", NULL);
    CHECK_INT(world.released, 1);
    close_world();
}

static void test_one_that_is_not(void) {
    static const char *const answers[] = {
        NULL, /* it was deleted */
        "{'metadata': {'name': 'a-0-2', 'ownerReferences': [{'uid': 'u-2', 'controller': true}]}}",
        "{'metadata': {'name': 'a-0-2'}}",
        "{'metadata': {'name': 'a-0-2', 'labels': {'windlass.dev/job': 'a'}, 'ownerReferences': "
        "[{'uid': 'u-1', 'controller': true}]}}", /* it has its labels again */
        "{'metadata': {'name': 'a-0-2', 'annotations': {'windlass.dev/alone': 'true'}, "
        "'ownerReferences': [{'uid': 'u-1', 'controller': true}]}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        AUTO(tree_freep) json_t *there = answers[i] ? parse(answers[i]) : NULL;
        open_world();
        world.there = there;
        for (int passes = 0; passes < 4; passes++) {
            pass(passes == 0 ? runs : "[]", NULL);
        }
        CHECK_INT(world.asked, 1);
        CHECK_INT(world.released, 0);
        close_world();
    }
}

/* Somebody deletes pods all the time: looks that found none make the next ones rare. */
static void test_one_look_for_many_deletions(void) {
    open_world();
    for (int second = 0; second < 600; second++, world.now_ms += 1000) {
        pass(second % 2 == 0 ? runs : "[]", NULL);
    }
    CHECK(world.asked >= 5 && world.asked <= 12); /* of 300 pods, in ten minutes */
    close_world();
}

/* Ended, leaving, deleted by us, looked for by others, or made again. */
static void test_what_is_never_read(void) {
    static const char *const others[] = {
        "[{'metadata': {'name': 'a-0-2'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': 'Failed', "
        "'containerStatuses': [{'name': 'agent', 'state': {'terminated': {'exitCode': 1}}}]}}]",
        "[{'metadata': {'name': 'a-0-2', 'deletionTimestamp': '2026-01-01T00:00:00Z'}, 'status': "
        "{'phase': 'Running'}}]",
    };
    AUTO(tree_freep)
    json_t *made = parse("{'kind': 'Pod', 'metadata': {'name': 'a-0-2', 'namespace': 'default', "
                         "'labels': {'windlass.dev/job': 'a'}}}");
    open_world();
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        pass(runs, NULL);
        pass(others[i], NULL);
        pass("[]", NULL);
    }
    pass(runs, NULL);
    pods_seen_drop(&world.seen, "a-0-2");
    pass("[]", NULL);
    pass(runs, NULL);
    pass("[]", "a-0-2");
    cache_watch(world.cache, "v1", "Pod", (struct cache_rules){0});
    cache_put(world.cache, made);
    pass(runs, NULL);
    pass("[]", NULL);
    CHECK_INT(world.asked, 0);
    close_world();
}

/* Each is looked for, one at a time; errors end. */
static void test_many_and_failures(void) {
    static const char two[] = "[{'metadata': {'name': 'a-0-2'}, 'status': {'phase': 'Running'}}, "
                              "{'metadata': {'name': 'a-1-2'}, 'status': {'phase': 'Running'}}]";
    static const struct {
        enum error_kind fails, fails_write;
        int asked, released;
    } rows[] = {
        {ERROR_NONE, ERROR_NONE, 1, 1},
        {ERROR_UNAVAILABLE, ERROR_NONE, RELABELLED_TRIES, 0},
        {ERROR_NONE, ERROR_CONFLICT, RELABELLED_TRIES, RELABELLED_TRIES},
        {ERROR_NONE, ERROR_NOT_FOUND, 1, 1},
    };
    AUTO(tree_freep) json_t *there = parse(is_ours);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_world();
        world.there = there;
        world.fails = rows[i].fails;
        world.fails_write = rows[i].fails_write;
        pass(two, NULL);
        for (int passes = 0; passes < 100; passes++) {
            world.now_ms += 600000;
            pass("[]", NULL);
        }
        CHECK_INT(world.asked, 2 * rows[i].asked);
        CHECK_INT(world.released, 2 * rows[i].released);
        close_world();
    }
}

/* Two vanish; the second is released because its name is wanted, before it is looked for. */
static void test_one_that_others_released(void) {
    static const char two[] = "[{'metadata': {'name': 'a-0-2'}, 'status': {'phase': 'Running'}}, "
                              "{'metadata': {'name': 'a-1-2'}, 'status': {'phase': 'Running'}}]";
    AUTO(tree_freep) json_t *there = parse(is_ours);
    AUTO(tree_freep) json_t *other = parse("{'kind': 'Pod', 'metadata': {'name': 'a-1-2'}}");
    struct written written = {"default", "a", CLUSTER_MERGE, other, other, NULL};
    open_world();
    world.there = there;
    pass(two, NULL);
    pass("[]", NULL);
    relabelled_note_change(&world.relabelled, &written);
    for (int i = 0; i < 4; i++) {
        pass("[]", NULL);
    }
    CHECK_INT(world.asked, 1);
    CHECK_INT(world.released, 1);
    close_world();
}

/* Its labels say another role, place or attempt than its name; nothing is known without one. */
static void test_whose_labels_are_of_another_place(void) {
    static const struct {
        const char *name, *labels, *bare_role;
        bool is_misplaced;
    } rows[] = {
        {"a-worker-1", "{'role': 'worker', 'index': '1', 'attempt': '1'}", NULL, false},
        {"a-worker-1-2", "{'role': 'worker', 'index': '1', 'attempt': '2'}", NULL, false},
        {"a-watch-1000001", "{'role': 'watch', 'index': '1000001', 'attempt': '1'}", NULL, false},
        {"a-coordinator-1", "{'role': 'coordinator', 'attempt': '1'}", NULL, false},
        {"a-coordinator-12", "{'role': 'coordinator', 'attempt': '12'}", NULL, false},
        {"a-0", "{'role': 'member', 'index': '0', 'attempt': '1'}", "member", false},
        {"a-0-3", "{'role': 'member', 'index': '0', 'attempt': '3'}", "member", false},
        {"a-worker-1", "{'role': 'worker', 'index': '1'}", NULL, false},
        {"a-worker-1-2", "{'role': 'worker', 'index': '2', 'attempt': '1'}", NULL, true},
        {"a-worker-1-2", "{'role': 'worker', 'index': '0', 'attempt': '2'}", NULL, true},
        {"a-worker-1-2", "{'role': 'worker', 'index': '1', 'attempt': '7'}", NULL, true},
        {"a-worker-1-2", "{'role': 'worker', 'attempt': '2'}", NULL, true},
        {"a-worker-1-2", "{'index': '1', 'attempt': '2'}", NULL, true},
        {"a-worker-1", "{'role': 'coordinator', 'index': '1', 'attempt': '1'}", NULL, true},
        {"a-coordinator-1", "{'role': 'worker', 'attempt': '1'}", NULL, true},
        {"a-1", "{'role': 'member', 'index': '0', 'attempt': '1'}", "member", true},
        {"a-1", "{'role': 'hub', 'index': '1', 'attempt': '1'}", "member", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *given = parse(rows[i].labels);
        AUTO(tree_freep) json_t *labels = json_object();
        const char *name;
        json_t *value;
        json_object_foreach(given, name, value) {
            AUTO(text_freep) char *full = x_printf("windlass.dev/%s", name);
            json_object_set(labels, full, value);
        }
        AUTO(tree_freep)
        json_t *pods =
            json_pack("[{s:{s:s, s:O}}]", "metadata", "name", rows[i].name, "labels", labels);
        bool is_misplaced = owned_is_misplaced(json_array_get(pods, 0), "a", rows[i].bare_role);
        printf("# %s %s\n", rows[i].name, rows[i].labels);
        CHECK_INT(is_misplaced, rows[i].is_misplaced);
        struct relabelled relabelled = {0};
        relabelled_leave_out(&relabelled, pods, "a", rows[i].bare_role);
        CHECK_INT(json_array_size(pods), !rows[i].is_misplaced);
        CHECK_INT(relabelled_is_busy(&relabelled), rows[i].is_misplaced);
        relabelled_release(&relabelled);
    }
}

/* The watch shows it with the job's label, and in another place. */
static void test_one_in_another_place(void) {
    AUTO(tree_freep) json_t *there = parse(is_ours);
    json_t *labels = tree_ensure_object(json_object_get(there, "metadata"), "labels");
    json_object_set_new(labels, "windlass.dev/job", json_string("a"));
    json_object_set_new(labels, "windlass.dev/role", json_string("member"));
    json_object_set_new(labels, "windlass.dev/index", json_string("1"));
    json_object_set_new(labels, "windlass.dev/attempt", json_string("2"));
    json_object_set_new(there, "kind", json_string("Pod"));
    for (int is_alone = 0; is_alone <= 1; is_alone++) {
        if (is_alone) {
            json_object_set_new(tree_get(there, "metadata.annotations"), ANNOTATION_ALONE,
                                json_string("true"));
        }
        open_world();
        cache_watch(world.cache, "v1", "Pod", (struct cache_rules){0});
        cache_put(world.cache, there);
        world.there = there;
        pass(runs, NULL);
        pass("[]", NULL);
        pass("[]", NULL);
        CHECK_INT(world.asked, 1);
        CHECK_INT(world.released, !is_alone); /* singleton.h's */
        close_world();
    }
}

/* A controller that has just started sees it there, and never saw it in its place. */
static void test_one_never_seen_in_its_place(void) {
    static const struct {
        const char *path, *name, *value; /* what it has besides; NULL: nothing */
        enum error_kind fails_write;
        int asked, released;
        size_t alone;
    } rows[] = {
        {NULL, NULL, NULL, ERROR_NONE, 1, 1, 0},
        {NULL, NULL, NULL, ERROR_CONFLICT, RELABELLED_TRIES, RELABELLED_TRIES, 0},
        {"metadata.annotations", ANNOTATION_ALONE, "true", ERROR_NONE, 0, 0, 1},
        {"metadata", "deletionTimestamp", "2026-01-01T00:00:00Z", ERROR_NONE, 0, 0, 0},
        {"status", "phase", "Succeeded", ERROR_NONE, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *there = parse(is_ours);
        json_t *labels = tree_ensure_object(json_object_get(there, "metadata"), "labels");
        json_object_set_new(labels, "windlass.dev/job", json_string("a"));
        json_object_set_new(labels, "windlass.dev/role", json_string("member"));
        json_object_set_new(labels, "windlass.dev/index", json_string("1"));
        json_object_set_new(labels, "windlass.dev/attempt", json_string("2"));
        if (rows[i].path) {
            json_object_set_new(tree_get(there, rows[i].path), rows[i].name,
                                json_string(rows[i].value));
        }
        AUTO(tree_freep) json_t *pods = json_pack("[O]", there);
        AUTO(text_freep) char *text = json_dumps(pods, 0);
        open_world();
        world.there = there;
        world.fails_write = rows[i].fails_write;
        for (int passes = 0; passes < 30; passes++) {
            world.now_ms += 600000;
            bool is_released = world.released > 0 && !rows[i].fails_write;
            pass(is_released ? "[]" : text, NULL);
        }
        CHECK_INT(world.asked, rows[i].asked);
        CHECK_INT(world.released, rows[i].released);
        CHECK_INT(json_array_size(world.relabelled.alone), rows[i].alone);
        close_world();
    }
}

int main(void) {
    TEST(test_one_that_is_ours);
    TEST(test_one_with_the_label_of_another_job);
    TEST(test_one_that_is_not);
    TEST(test_one_look_for_many_deletions);
    TEST(test_what_is_never_read);
    TEST(test_many_and_failures);
    TEST(test_one_that_others_released);
    TEST(test_whose_labels_are_of_another_place);
    TEST(test_one_in_another_place);
    TEST(test_one_never_seen_in_its_place);
    return TEST_END();
}
