// SPDX-License-Identifier: Apache-2.0
/* Objects that have lost their owner: which are taken back, how often they are asked for, and how
 * long the job waits for them. */
#include "operator/kinds/job/reconcile/adoption.h"

#include "lib/time/clock.h"
#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/owned.h"
#include "tests/parse_json.h"
#include "tests/test.h"

enum { MANY = 40, HOUR_MS = 3600000 };

static const char key[] = "BatchScore default/a";
static const char *const owned_kinds[] = {"Service", "Pod", NULL};

/* A job, what the cache shows, and what the cluster has. */
static struct {
    struct cluster cluster;
    struct cache *cache;
    struct queries *queries;
    struct retry_pace *pace;
    struct adoption adoption;
    struct credentials *made;
    json_t *job, *writes;
    json_t *there;         /* name -> what the cluster answers; without one: none */
    enum error_kind fails; /* a question */
    const json_t *like;    /* of the question that is under way; borrowed, as the others */
    cluster_done *done;
    void *context;
    int64_t now_ms, again_ms;
    int asked, version;
} world;

static void keep_list(struct cluster *cluster UNUSED, const json_t *like, const char *fields UNUSED,
                      cluster_done *done, void *context) {
    CHECK(!world.done); /* one at a time */
    world.like = like;
    world.done = done;
    world.context = context;
    world.asked++;
}

static const struct cluster_ops ops = {.list = keep_list};

static void answer(void) {
    struct error err = {0};
    cluster_done *done = TAKE(world.done);
    AUTO(tree_freep) json_t *list = json_pack("{s:[]}", "items");
    json_t *object =
        done ? json_object_get(world.there, tree_text(world.like, "metadata.name", "")) : NULL;
    if (object) {
        json_array_append(json_object_get(list, "items"), object);
    }
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
    adoption_found(&world.adoption, &found);
}

static void open_world(const char *status) {
    memset(&world, 0, sizeof world);
    world.cluster.ops = &ops;
    world.cache = cache_new();
    world.queries = queries_new(&world.cluster, on_answer, NULL);
    world.pace = retry_pace_new();
    world.there = json_object();
    world.job = parse("{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'BatchScore', 'metadata': "
                      "{'name': 'a', 'uid': 'u-1'}}");
    json_object_set_new(world.job, "status", parse(status));
    cache_watch(world.cache, "v1", "Pod", (struct cache_rules){0});
    cache_watch(world.cache, "v1", "Service", (struct cache_rules){0});
}

static void close_world(void) {
    adoption_release(&world.adoption);
    queries_free(world.queries);
    retry_pace_free(world.pace);
    cache_free(world.cache);
    json_decref(world.there);
    json_decref(world.job);
    json_decref(world.writes);
}

/* The next version of an object made for the job with that uid; secret: NULL: it names none. */
static json_t *object_of(const char *kind, const char *name, const char *for_uid,
                         const char *secret) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:o, s:{s:s}, s:{s:s, s:s*}}}", "apiVersion",
                     "v1", "kind", kind, "metadata", "name", name, "namespace", "default", "uid",
                     name, "resourceVersion", json_sprintf("%d", ++world.version), "labels",
                     LABEL_JOB, "a", "annotations", ANNOTATION_UID, for_uid, ANNOTATION_SECRET,
                     secret);
}

/* The watch reports it, and the cluster has it. */
static void put(json_t *object_new) {
    json_object_set(world.there, tree_text(object_new, "metadata.name", ""), object_new);
    cache_put(world.cache, object_new);
    json_decref(object_new);
}

static void lose(const char *name) {
    put(object_of("Pod", name, "u-1", NULL));
}

static json_t *owned_pod(const char *name) {
    json_t *object = object_of("Pod", name, "u-1", NULL);
    json_object_set_new(json_object_get(object, "metadata"), "ownerReferences",
                        json_pack("[o]", claim_owner_reference(world.job)));
    return object;
}

static void give_back(const char *name) {
    put(owned_pod(name));
}

/* The watch does not report it. */
static void give_back_unseen(const char *name) {
    json_object_set_new(world.there, name, owned_pod(name));
}

/* One pass, and the answer to its question. Returns whether the job has to wait. */
static bool pass(void) {
    int64_t now_ms = world.now_ms ? world.now_ms : clock_monotonic_ms();
    json_decref(world.writes);
    world.writes = json_array();
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .object = world.job,
                                .cache = world.cache,
                                .monotonic_ms = now_ms,
                                .writes = world.writes,
                                .queries = world.queries,
                                .pace = world.pace};
    (void)retry_pace_take(world.pace, now_ms); /* its turn, if it has come */
    bool waits = adoption_settle(&request, &world.adoption, owned_kinds, world.made);
    world.again_ms = request.again_ms;
    retry_pace_passed(world.pace, key);
    if (request.is_retry) {
        retry_pace_ended(world.pace, key, RETRY_UNKNOWN);
    }
    answer();
    return waits;
}

/* The writes of the last pass end. */
static void end_writes(enum error_kind fails) {
    struct error err = {0};
    size_t i;
    json_t *write;
    if (fails) {
        error_set(&err, fails, "as asked");
    }
    json_array_foreach(world.writes, i, write) {
        const json_t *object = json_object_get(write, "object");
        if (!fails) {
            give_back(tree_text(object, "metadata.name", ""));
        }
        struct written written = {"default", "a", CLUSTER_MERGE, object, NULL, fails ? &err : NULL};
        adoption_note(&world.adoption, &written);
    }
}

/* Two passes: one asks, one changes. */
static bool try_once(enum error_kind fails) {
    bool waits = pass();
    waits &= pass();
    CHECK_INT(json_array_size(world.writes), 1);
    end_writes(fails);
    return waits;
}

static void test_taken_back_before_anything_else(void) {
    open_world("{}");
    CHECK(!pass());
    CHECK_INT(world.asked, 0);
    lose("p");
    CHECK(pass());
    CHECK_INT(world.asked, 1);
    CHECK_INT(json_array_size(world.writes), 0);
    CHECK(pass());
    CHECK_INT(json_array_size(world.writes), 1);
    const json_t *change = tree_get(json_array_get(world.writes, 0), "object.metadata");
    CHECK_STR(tree_text(change, "uid", ""), "p");
    CHECK_STR(tree_text(change, "resourceVersion", ""), "1"); /* of what was read, alone */
    CHECK_STR(tree_text(change, "ownerReferences[0].uid", ""), "u-1");
    CHECK(tree_bool(change, "ownerReferences[0].controller", false));
    end_writes(ERROR_NONE);
    CHECK(!pass());
    CHECK_INT(world.asked, 1);
    CHECK_INT(json_array_size(world.writes), 0);
    close_world();
}

/* Each row: the status, the Secret that this controller made, that of a Service that is still the
 * job's, and that of the lost pod. */
static void test_only_with_the_jobs_secret(void) {
    static const char recorded[] = "{'credentials': {'secret': 's-1'}}";
    static const struct {
        const char *status, *made, *owned, *lost;
        bool is_taken;
    } rows[] = {
        {recorded, NULL, NULL, "s-1", true},   {recorded, NULL, NULL, "s-2", false},
        {recorded, NULL, "s-2", "s-2", false}, {recorded, "s-2", NULL, "s-2", true},
        {recorded, NULL, NULL, NULL, true},    {"{}", "s-1", NULL, "s-1", true},
        {"{}", "s-1", NULL, "s-2", false},     {"{}", "s-1", "s-2", "s-2", false},
        {"{}", NULL, "s-1", "s-1", true},      {"{}", NULL, "s-1", "s-2", false},
        {"{}", NULL, NULL, "s-1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_world(rows[i].status);
        struct credentials made = {.secret = rows[i].made};
        world.made = rows[i].made ? &made : NULL;
        if (rows[i].owned) {
            json_t *service = object_of("Service", "hub", "u-1", rows[i].owned);
            json_object_set_new(json_object_get(service, "metadata"), "ownerReferences",
                                json_pack("[o]", claim_owner_reference(world.job)));
            put(service);
        }
        put(object_of("Pod", "p", "u-1", rows[i].lost));
        CHECK(pass());
        CHECK_INT(pass(), rows[i].is_taken);
        CHECK_INT(json_array_size(world.writes), rows[i].is_taken);
        close_world();
    }
}

/* Made for an earlier job of this name: nothing is asked for. */
static void test_others_are_not_looked_at(void) {
    open_world("{}");
    put(object_of("Pod", "p", "u-0", NULL));
    CHECK(!pass());
    CHECK_INT(world.asked, 0);
    close_world();
}

static void test_gone_or_given_back(void) {
    open_world("{}");
    lose("p"); /* the watch does not know yet that it is gone */
    json_object_del(world.there, "p");
    CHECK(pass());
    CHECK(!pass());
    CHECK(!pass());
    CHECK_INT(world.asked, 1);
    lose("q");
    json_object_set_new(world.there, "q", parse("{'metadata': {'name': 'q', 'uid': 'q-2'}}"));
    CHECK(pass());
    CHECK(!pass()); /* another object has its name */
    CHECK_INT(json_array_size(world.writes), 0);
    lose("r");
    CHECK(pass());
    give_back("r"); /* by somebody else, after the answer: the change then fails */
    CHECK(pass());
    end_writes(ERROR_CONFLICT);
    CHECK_INT(world.asked, 3);
    CHECK(!pass());
    CHECK_INT(world.asked, 3);
    close_world();
}

/* When it is its turn; the job does not wait. */
static void try_late(enum error_kind fails) {
    int asked = world.asked;
    for (int i = 0; i < 2 && world.asked == asked; i++) {
        CHECK(!pass());
    }
    CHECK_INT(world.asked, asked + 1);
    CHECK(!pass());
    CHECK_INT(json_array_size(world.writes), 1);
    end_writes(fails);
}

/* It is not tried again for some minutes, and then once. */
static void check_later(void) {
    int64_t left_ms = world.adoption.at[0].delay.not_before_ms - clock_monotonic_ms();
    CHECK(left_ms > 400000 && left_ms <= 750000);
    CHECK(world.again_ms > 400000 && world.again_ms <= 750000);
    world.now_ms = world.adoption.at[0].delay.not_before_ms + 10 * HOUR_MS;
    try_late(ERROR_NONE);
    world.now_ms = 0;
    CHECK(!pass());
}

/* Another writer was faster, again and again: each try waits for longer, and the job not for ever.
 */
static void test_failed_tries(void) {
    open_world("{}");
    lose("p");
    CHECK(try_once(ERROR_CONFLICT));
    CHECK(pass()); /* too soon */
    CHECK_INT(world.asked, 1);
    for (int tries = 2; tries <= ADOPTION_TRIES; tries++) {
        int64_t left_ms = world.adoption.at[0].delay.not_before_ms - clock_monotonic_ms();
        int64_t even_ms = INT64_C(1000) << (tries - 2);
        CHECK(left_ms > even_ms * 7 / 10 && left_ms <= even_ms * 5 / 4);
        world.now_ms = world.adoption.at[0].delay.not_before_ms + tries * HOUR_MS;
        CHECK(try_once(ERROR_CONFLICT));
        CHECK_INT(world.asked, tries);
        world.now_ms = 0;
    }
    lose("p");
    CHECK(!pass()); /* the job goes on */
    CHECK_INT(world.asked, ADOPTION_TRIES);
    check_later();
    close_world();
}

/* A webhook forbids it: the job does not wait. */
static void test_refused(void) {
    open_world("{}");
    lose("p");
    CHECK(try_once(ERROR_DENIED));
    CHECK(!pass());
    CHECK_INT(world.asked, 1);
    check_later();
    close_world();
}

/* Always refused, it is tried more and more rarely. */
static void test_later_and_later(void) {
    open_world("{}");
    lose("p");
    CHECK(try_once(ERROR_DENIED));
    for (int tries = 0; tries < 8; tries++) {
        int64_t left_ms = world.adoption.at[0].delay.not_before_ms - clock_monotonic_ms();
        int64_t even_ms = INT64_C(600000) << MIN(tries, 5);
        CHECK(left_ms > even_ms * 7 / 10 && left_ms <= even_ms * 5 / 4);
        world.now_ms =
            world.adoption.at[0].delay.not_before_ms + INT64_C(10) * HOUR_MS * (tries + 1);
        try_late(ERROR_DENIED);
    }
    close_world();
}

/* The answer shows the owner that somebody gave it back, and the watch has reported already that it
 * was lost once more. */
static void test_lost_again_before_the_answer(void) {
    open_world("{}");
    lose("p");
    give_back_unseen("p");
    CHECK(pass());
    lose("p");
    CHECK(pass());
    CHECK_INT(json_array_size(world.writes), 0);
    CHECK_INT(world.asked, 1); /* not at once */
    world.now_ms = world.adoption.at[0].delay.not_before_ms + HOUR_MS;
    CHECK(try_once(ERROR_NONE));
    CHECK(!pass());
    close_world();
}

static void test_a_question_that_fails(void) {
    open_world("{}");
    lose("p");
    world.fails = ERROR_UNAVAILABLE;
    CHECK(pass());
    CHECK(pass());
    CHECK_INT(world.asked, 1);
    world.fails = ERROR_NONE;
    world.now_ms = world.adoption.at[0].delay.not_before_ms + HOUR_MS;
    CHECK(try_once(ERROR_NONE));
    CHECK(!pass());
    close_world();
}

/* Somebody takes the owner away again and again. The job waits for it, but asks more and more
 * rarely; after a long time it asks at once. */
static void test_lost_again_and_again(void) {
    open_world("{}");
    lose("p");
    CHECK(try_once(ERROR_NONE));
    for (int times = 2; times <= 8; times++) {
        lose("p");
        CHECK(pass());
        CHECK_INT(world.asked, times - 1);
        int64_t left_ms = world.adoption.at[0].delay.not_before_ms - clock_monotonic_ms();
        int64_t even_ms = MIN(INT64_C(1000) << (times - 2), 60000);
        CHECK(left_ms > even_ms * 7 / 10 && left_ms <= even_ms * 5 / 4);
        world.now_ms = world.adoption.at[0].delay.not_before_ms + times * HOUR_MS;
        CHECK(try_once(ERROR_NONE));
        CHECK_INT(world.asked, times);
        world.now_ms = 0;
        CHECK(!pass());
    }
    lose("p");
    world.now_ms = clock_monotonic_ms() + 10 * HOUR_MS;
    CHECK(try_once(ERROR_NONE));
    CHECK_INT(world.asked, 9);
    close_world();
}

/* All at once: they are looked at in parts, and the job waits for the last one. */
static void test_many(void) {
    open_world("{}");
    for (int i = 0; i < MANY; i++) {
        AUTO(text_freep) char *name = x_printf("p-%d", i);
        lose(name);
    }
    int passes = 0, adopted = 0;
    while (pass() && ++passes < 4 * MANY) {
        adopted += (int)json_array_size(world.writes);
        end_writes(ERROR_NONE);
    }
    CHECK_INT(adopted, MANY);
    CHECK_INT(world.asked, MANY);
    close_world();
}

/* More than are looked at together, of which those are given back at once: the last one does not
 * wait for ever. */
static void test_many_given_back(void) {
    enum { TOGETHER = 16 };
    open_world("{}");
    world.fails = ERROR_UNAVAILABLE;
    for (int i = 0; i <= TOGETHER; i++) {
        AUTO(text_freep) char *name = x_printf("p-%d", i);
        lose(name);
    }
    CHECK(pass());
    world.fails = ERROR_NONE;
    for (int i = 0; i < TOGETHER; i++) {
        AUTO(text_freep) char *name = x_printf("p-%d", i);
        give_back(name);
    }
    CHECK(pass());
    CHECK_INT(world.asked, 2);
    CHECK(pass());
    CHECK_INT(json_array_size(world.writes), 1);
    end_writes(ERROR_NONE);
    CHECK(!pass());
    close_world();
}

int main(void) {
    TEST(test_taken_back_before_anything_else);
    TEST(test_only_with_the_jobs_secret);
    TEST(test_others_are_not_looked_at);
    TEST(test_gone_or_given_back);
    TEST(test_failed_tries);
    TEST(test_refused);
    TEST(test_later_and_later);
    TEST(test_lost_again_before_the_answer);
    TEST(test_a_question_that_fails);
    TEST(test_lost_again_and_again);
    TEST(test_many);
    TEST(test_many_given_back);
    return TEST_END();
}
