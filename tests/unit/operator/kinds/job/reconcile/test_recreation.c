// SPDX-License-Identifier: Apache-2.0
/* Pods that somebody takes away while they live: their places are filled later each time. */
#include "operator/kinds/job/reconcile/recreation.h"

#include "operator/kinds/job/reconcile/pods_seen.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static struct {
    struct pods_seen seen;
    struct recreation recreation;
    int64_t now_ms;
    int64_t again_ms; /* of the last pass */
    size_t events;
    bool is_suspended;
} world;

static void open_world(void) {
    memset(&world, 0, sizeof world);
    world.now_ms = 5000;
}

static void close_world(void) {
    pods_seen_release(&world.seen);
    recreation_release(&world.recreation);
}

/* Returns how many of a coordinator and a worker may be made in a pass that sees these pods. */
static size_t pass(const char *pods_text) {
    AUTO(tree_freep) json_t *pods = parse(pods_text);
    AUTO(tree_freep) json_t *events = json_array();
    AUTO(tree_freep)
    json_t *create = parse("[{'kind': 'Pod', 'metadata': {'labels': {'windlass.dev/role': "
                           "'coordinator'}}}, {'kind': 'Pod', 'metadata': {'labels': "
                           "{'windlass.dev/role': 'worker', 'windlass.dev/index': '0'}}}]");
    AUTO(tree_freep) json_t *job = json_pack("{s:{s:b}}", "spec", "suspend", world.is_suspended);
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .object = job,
                                .monotonic_ms = world.now_ms,
                                .events = events};
    pods_seen_note(&world.seen, pods, world.now_ms, world.now_ms);
    recreation_note(&request, &world.recreation, world.seen.lost);
    recreation_hold(&request, &world.recreation, create);
    world.again_ms = request.again_ms;
    world.events += json_array_size(events);
    return json_array_size(create);
}

#define WORKER                                                                                     \
    "{'metadata': {'name': 'a-worker-0', 'labels': {'windlass.dev/role': 'worker', "               \
    "'windlass.dev/index': '0'}%s}, 'status': {'phase': '%s'}}"

static void see_worker(const char *more, const char *phase) {
    AUTO(text_freep) char *pod = x_printf(WORKER, more, phase);
    AUTO(text_freep) char *pods = x_printf("[%s]", pod);
    (void)pass(pods);
}

static const char leaving[] = ", 'deletionTimestamp': '2026-01-01T00:00:00Z'";
static const char evicted[] = "Failed', 'reason': 'Evicted";
static const char failed[] =
    "Failed', 'containerStatuses': [{'state': {'terminated': {'exitCode': 1}}}], 'reason': 'Error";

static void test_later_each_time(void) {
    static const int64_t pauses_ms[] = {0,     0,     1000,  2000,  4000, 8000,
                                        16000, 32000, 60000, 60000, 90000};
    for (int way = 0; way < 3; way++) { /* it vanishes, is deleted, is evicted */
        open_world();
        for (size_t losses = 1; losses < ARRAY_LEN(pauses_ms); losses++) {
            see_worker("", "Running");
            if (way > 0) {
                see_worker(way == 1 ? leaving : "", way == 1 ? "Running" : evicted);
            }
            size_t wanted = pauses_ms[losses] > 0 ? 1 : 2; /* the coordinator's place is another */
            CHECK_INT(pass("[]"), wanted);
            CHECK_INT(world.again_ms, pauses_ms[losses]);
            world.now_ms += MAX(pauses_ms[losses] - 1, 0);
            CHECK_INT(pass("[]"), wanted);
            world.now_ms += 1;
            CHECK_INT(pass("[]"), 2);
        }
        CHECK_INT(world.events, 1);
        close_world();
    }
}

/* Two who do not agree whether the job is suspended. */
static void test_later_after_each_resumption(void) {
    static const int64_t pauses_ms[] = {0, 0, 1000, 2000, 4000};
    open_world();
    for (int resumptions = 1; resumptions < (int)ARRAY_LEN(pauses_ms); resumptions++) {
        world.is_suspended = true;
        (void)pass("[]");
        world.is_suspended = false;
        CHECK_INT(pass("[]"), pauses_ms[resumptions] > 0 ? 0 : 2);
        CHECK_INT(world.again_ms, pauses_ms[resumptions]);
        world.now_ms += pauses_ms[resumptions];
        CHECK_INT(pass("[]"), 2);
    }
    CHECK_INT(world.events, 0);
    world.is_suspended = true;
    (void)pass("[]");
    world.is_suspended = false;
    world.now_ms += RECREATION_FORGET_MS;
    CHECK_INT(pass("[]"), 2);
    close_world();
}

/* Ten minutes without a loss. */
static void test_it_ends(void) {
    open_world();
    for (int losses = 0; losses < 5; losses++) {
        see_worker("", "Running");
        (void)pass("[]");
    }
    CHECK_INT(pass("[]"), 1);
    see_worker("", "Running");
    world.now_ms += RECREATION_FORGET_MS;
    CHECK_INT(pass("[]"), 2);
    CHECK_INT(world.again_ms, 0);
    close_world();
}

/* Pods that have ended, also on their way out, and those that we have deleted. */
static void test_what_does_not_count(void) {
    const char *const ends[] = {failed, "Succeeded"};
    open_world();
    for (int i = 0; i < 10; i++) {
        see_worker("", "Running");
        see_worker("", ends[i % 2]);
        see_worker(leaving, ends[i % 2]);
        CHECK_INT(pass("[]"), 2);
    }
    for (int i = 0; i < 10; i++) {
        see_worker("", "Running");
        pods_seen_drop(&world.seen, "a-worker-0");
        see_worker("", "Running"); /* the watch is late */
        if (i % 2) {
            see_worker(leaving, "Running");
        }
        CHECK_INT(pass("[]"), 2);
    }
    see_worker("", "Running"); /* another one of that name */
    CHECK_INT(pass("[]"), 2);
    see_worker("", "Running");
    CHECK_INT(pass("[]"), 1);
    CHECK_INT(world.events, 0);
    close_world();
}

#define SERVICE(secret)                                                                            \
    "[{'metadata': {'annotations': {'windlass.dev/secret': '" secret "', "                         \
    "'windlass.dev/certificate-sha256': 'c'}}}]"
#define NAMES(created)                                                                             \
    "{'status': {'credentials': {'secret': 'a-1', 'certificateSHA256': 'c', 'created': " created   \
    "}}}"

/* When a pass of the job that sees these Services may make its own one anew: 0: in this one. */
static int64_t service_left_ms(struct recreation *recreation, const char *job_text,
                               const char *services_text, int64_t now_ms, size_t *ret_events) {
    AUTO(tree_freep) json_t *job = parse(job_text);
    AUTO(tree_freep) json_t *services = parse(services_text);
    AUTO(tree_freep) json_t *events = json_array();
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .object = job,
                                .monotonic_ms = now_ms,
                                .events = events};
    int64_t left_ms = recreation_service_hold_ms(&request, recreation, services);
    *ret_events += json_array_size(events);
    return left_ms;
}

static void take_away_often(const char *job, const char *gone) {
    static const int64_t waits_ms[] = {0, 1000, 60000, 120000, 240000, 240000};
    const char *whole = SERVICE("a-1");
    struct recreation recreation = {0};
    int64_t now_ms = 5000;
    size_t events = 0;
    CHECK_INT(service_left_ms(&recreation, job, gone, now_ms, &events), 0);
    for (size_t i = 0; i < ARRAY_LEN(waits_ms); i++) {
        CHECK_INT(service_left_ms(&recreation, job, whole, now_ms, &events), 0);
        CHECK_INT(service_left_ms(&recreation, job, gone, now_ms, &events), waits_ms[i]);
        now_ms += waits_ms[i];
        if (waits_ms[i] > 0) {
            CHECK_INT(service_left_ms(&recreation, job, gone, now_ms, &events), 0);
        }
    }
    CHECK_INT(events, 1);
    CHECK_INT(service_left_ms(&recreation, job, whole, now_ms, &events), 0);
    AUTO(tree_freep) json_t *ours = json_pack("{s:s}", "kind", "Service");
    recreation_note_deleted(&recreation, ours);
    CHECK_INT(service_left_ms(&recreation, job, gone, now_ms, &events), 0);
    CHECK_INT(service_left_ms(&recreation, job, whole, now_ms, &events), 0);
    CHECK_INT(service_left_ms(&recreation, job, gone, now_ms + 600000, &events), 0);
    recreation_release(&recreation);
}

/* A Service that somebody deletes, strips or replaces comes back at once, then later each time, up
 * to four minutes; one that the controller has deleted, or that never was, does not count. */
static void test_a_service_that_is_taken_away(void) {
    static const struct {
        const char *job, *gone;
    } ways[] = {
        {"{}", "[]"},          {"{}", "[{}]"},          {NAMES("false"), "[{}]"},
        {NAMES("true"), "[]"}, {NAMES("true"), "[{}]"}, {NAMES("true"), SERVICE("a-2")},
    };
    for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
        take_away_often(ways[way].job, ways[way].gone);
    }
}

/* A Secret that cannot be created has another name after each failure; its Service is not taken
 * away for that. */
static void test_a_service_before_its_secret(void) {
    struct recreation recreation = {0};
    size_t events = 0;
    for (int i = 0; i < 10; i++) {
        const char *service = i % 2 ? SERVICE("a-2") : SERVICE("a-1");
        CHECK_INT(service_left_ms(&recreation, NAMES("false"), service, 5000, &events), 0);
    }
    CHECK_INT(recreation.services.times, 0);
    CHECK_INT(events, 0);
    recreation_release(&recreation);
}

int main(void) {
    TEST(test_later_each_time);
    TEST(test_later_after_each_resumption);
    TEST(test_it_ends);
    TEST(test_what_does_not_count);
    TEST(test_a_service_that_is_taken_away);
    TEST(test_a_service_before_its_secret);
    return TEST_END();
}
