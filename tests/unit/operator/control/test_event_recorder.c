// SPDX-License-Identifier: Apache-2.0
/* What is written, and how often, over a cluster that only records its writes. */
#include "operator/control/event_recorder.h"

#include "tests/test.h"

#include <stdlib.h>

enum { WRITES_MAX = 64, MINUTE_MS = 60000 };

static struct {
    struct cluster cluster;
    json_t *objects; /* as written */
    enum cluster_verb verbs[WRITES_MAX];
    bool lacks_group; /* events.k8s.io */
    cluster_done *done;
    void *context;
} world;

static void record_write(struct cluster *cluster UNUSED, enum cluster_verb verb,
                         const json_t *object, cluster_done *done, void *context) {
    CHECK(json_array_size(world.objects) < WRITES_MAX);
    world.verbs[json_array_size(world.objects)] = verb;
    json_array_append_new(world.objects, json_deep_copy(object));
    world.done = done;
    world.context = context;
}

static const struct cluster_ops ops = {.write = record_write};

/* The server answers the last write. */
static void answer(void) {
    const json_t *last = json_array_get(world.objects, json_array_size(world.objects) - 1);
    bool is_lost = world.lacks_group && strcmp(tree_text(last, "apiVersion", ""), "v1") != 0;
    struct error err = {0};
    error_set(&err, ERROR_NOT_FOUND, "the server could not find the requested resource");
    cluster_done *done = world.done;
    world.done = NULL;
    if (done) {
        done(world.context, is_lost ? NULL : last, is_lost ? &err : NULL);
    }
}

static struct event_recorder *open_world(bool lacks_group) {
    world.cluster.ops = &ops;
    world.objects = json_array();
    world.lacks_group = lacks_group;
    return event_recorder_new(&world.cluster);
}

static void close_world(struct event_recorder *recorder) {
    event_recorder_free(recorder);
    json_decref(world.objects);
}

/* minute: also its time. */
static void tell(struct event_recorder *recorder, const char *uid, const char *reason,
                 const char *note, int64_t minute) {
    AUTO(text_freep) char *time = x_printf("2026-11-23T06:%02d:00.000000Z", (int)minute);
    AUTO(tree_freep)
    json_t *event =
        json_pack("{s:s, s:s, s:{s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "apiVersion",
                  "events.k8s.io/v1", "kind", "Event", "metadata", "namespace", "n", "eventTime",
                  time, "type", "Normal", "reason", reason, "note", note, "reportingController",
                  "c", "reportingInstance", "i", "regarding", "name", "job", "uid", uid);
    event_recorder_send(recorder, event, minute * MINUTE_MS);
    answer();
}

static const char *text(size_t at, const char *path) {
    return tree_text(json_array_get(world.objects, at), path, "");
}

static void test_one_write_in_ten_minutes(void) {
    struct event_recorder *recorder = open_world(false);
    for (int minute = 0; minute < 10; minute++) {
        AUTO(text_freep) char *note = x_printf("pod job-worker-%d was evicted", minute);
        tell(recorder, "u", "PodReplaced", note, minute);
        tell(recorder, "u", "PodReplaced", note, minute);
    }
    CHECK_INT(json_array_size(world.objects), 1);
    CHECK_INT(event_recorder_next_ms(recorder), 10 * MINUTE_MS);
    event_recorder_step(recorder, 10 * MINUTE_MS);
    CHECK_INT(json_array_size(world.objects), 2);
    CHECK_INT(world.verbs[0], CLUSTER_CREATE);
    CHECK_INT(world.verbs[1], CLUSTER_APPLY);
    CHECK_STR(text(1, "metadata.name"), text(0, "metadata.name"));
    CHECK_INT(tree_integer(json_array_get(world.objects, 1), "series.count", 0), 20);
    CHECK_STR(text(1, "series.lastObservedTime"), "2026-11-23T06:09:00.000000Z");
    CHECK(!tree_get(json_array_get(world.objects, 1), "note"));
    /* the count goes on, and what does not repeat is forgotten */
    tell(recorder, "u", "PodReplaced", "pod job-worker-1 was evicted", 15);
    event_recorder_step(recorder, 20 * MINUTE_MS);
    CHECK_INT(tree_integer(json_array_get(world.objects, 2), "series.count", 0), 21);
    event_recorder_step(recorder, 30 * MINUTE_MS);
    CHECK_INT(json_array_size(world.objects), 3);
    CHECK(event_recorder_next_ms(recorder) == INT64_MAX);
    tell(recorder, "u", "PodReplaced", "pod job-worker-1 was evicted", 31);
    CHECK_INT(world.verbs[3], CLUSTER_CREATE);
    CHECK(strcmp(text(3, "metadata.name"), text(0, "metadata.name")) != 0);
    close_world(recorder);
}

static void test_other_notes_are_combined(void) {
    struct event_recorder *recorder = open_world(false);
    tell(recorder, "u", "PodFailed", "exit code 3: disk full", 1);
    tell(recorder, "u", "PodFailed", "exit code 4: no such file", 2);
    tell(recorder, "u", "PodFailed", "exit code 5: no such file", 3);
    event_recorder_step(recorder, 11 * MINUTE_MS);
    CHECK_INT(json_array_size(world.objects), 2);
    CHECK_INT(world.verbs[1], CLUSTER_CREATE);
    CHECK_STR(text(1, "note"), "(2 like it in ten minutes) exit code 5: no such file");
    CHECK(strcmp(text(1, "metadata.name"), text(0, "metadata.name")) != 0);
    /* like the last one: its series */
    tell(recorder, "u", "PodFailed", "exit code 6: no such file", 12);
    event_recorder_step(recorder, 21 * MINUTE_MS);
    CHECK_INT(world.verbs[2], CLUSTER_APPLY);
    CHECK_STR(text(2, "metadata.name"), text(1, "metadata.name"));
    close_world(recorder);
}

static void test_reasons_and_resources_are_apart(void) {
    struct event_recorder *recorder = open_world(false);
    tell(recorder, "u", "PodFailed", "x", 1);
    tell(recorder, "u", "PodReplaced", "x", 1);
    tell(recorder, "v", "PodFailed", "x", 1);
    CHECK_INT(json_array_size(world.objects), 3);
    for (int i = 0; i < 3; i++) {
        CHECK(strcmp(text((size_t)i, "metadata.name"),
                     text((size_t)((i + 1) % 3), "metadata.name")) != 0);
    }
    close_world(recorder);
}

/* Another controller gives the same name to the same thing. */
static void test_names_are_stable(void) {
    char name[64];
    for (int round = 0; round < 2; round++) {
        struct event_recorder *recorder = open_world(false);
        tell(recorder, "u", "Listing", "the input is listed", 1 + 2 * round);
        if (round) {
            CHECK_STR(text(0, "metadata.name"), name);
        }
        snprintf(name, sizeof name, "%s", text(0, "metadata.name"));
        close_world(recorder);
    }
}

static void test_the_core_group(void) {
    struct event_recorder *recorder = open_world(true);
    tell(recorder, "u", "Running", "the workers score", 1);
    CHECK_INT(json_array_size(world.objects), 2);
    CHECK_STR(text(1, "apiVersion"), "v1");
    CHECK_STR(text(1, "message"), "the workers score");
    CHECK_STR(text(1, "involvedObject.name"), "job");
    CHECK_STR(text(1, "firstTimestamp"), "2026-11-23T06:01:00Z");
    answer();
    tell(recorder, "u", "Joining", "the outputs are joined", 2);
    CHECK_INT(json_array_size(world.objects), 3); /* at once */
    tell(recorder, "u", "Joining", "the outputs are joined", 3);
    event_recorder_step(recorder, 12 * MINUTE_MS);
    CHECK_INT(tree_integer(json_array_get(world.objects, 3), "count", 0), 2);
    close_world(recorder);
}

static void test_a_bounded_number_is_remembered(void) {
    struct event_recorder *recorder = open_world(false);
    json_decref(world.objects);
    for (int i = 0; i < EVENT_RECORDER_MAX + 10; i++) {
        AUTO(text_freep) char *uid = x_printf("u%d", i);
        world.objects = json_array();
        tell(recorder, uid, "Running", "x", 1);
        CHECK_INT(json_array_size(world.objects), 1);
        json_decref(world.objects);
    }
    world.objects = json_array();
    tell(recorder, "u0", "Running", "x", 2); /* forgotten: the server knows its name */
    tell(recorder, "u4000", "Running", "x", 2);
    CHECK_INT(json_array_size(world.objects), 1);
    close_world(recorder);
}

int main(void) {
    TEST(test_one_write_in_ten_minutes);
    TEST(test_other_notes_are_combined);
    TEST(test_reasons_and_resources_are_apart);
    TEST(test_names_are_stable);
    TEST(test_the_core_group);
    TEST(test_a_bounded_number_is_remembered);
    return TEST_END();
}
