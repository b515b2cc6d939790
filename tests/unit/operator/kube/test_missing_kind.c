// SPDX-License-Identifier: Apache-2.0
/* A kind that the server does not know: under one version, for a moment, or at all. Rows of
 * docs/client.md. */
#include "operator/kube/watch.h"
#include "tests/kube/script_world.h"

enum { OBJECTS = 3 };

static const char *only_version;         /* that the server knows; chosen by the test */
static struct script_connection *stream; /* of the last watch */

/* Three objects at resourceVersion 1000; no watch-list. */
static void answer_version(void *context UNUSED, const struct script_request *request) {
    if (!strstr(request->path, only_version)) {
        script_reply(request->connection, 404, "", "{\"kind\":\"Status\"}");
    } else if (strstr(request->query, "sendInitialEvents")) {
        script_reply(request->connection, 422, "", "{\"kind\":\"Status\",\"code\":422}");
    } else if (strstr(request->query, "watch=true")) {
        stream = request->connection;
        script_stream(stream);
    } else {
        script_reply(request->connection, 200, "",
                     "{\"metadata\":{\"resourceVersion\":\"1000\"},\"items\":["
                     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}},"
                     "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"2\"}},"
                     "{\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"3\"}}]}");
    }
}

static void watch_sweeps(const char *version) {
    struct error err = {0};
    stream = NULL;
    only_version = version;
    world_open(answer_version, "token: t");
    CHECK_OK(
        world.cluster->ops->watch(world.cluster, "windlass.dev/v1beta1", "Sweep", NULL, true, &err),
        &err);
}

/* The server's definition knows one version of the kind. */
static void test_an_older_definition(void) {
    static const char *const rows[] = {"/v1beta1/", "/v1alpha1/", "/v1beta1/"};
    watch_sweeps("none");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) { /* upgraded, back, upgraded */
        only_version = rows[i];
        if (stream) {
            script_cut(stream);
        }
        int listed = world.listed;
        for (int second = 0; second < 100 && (world.listed == listed || !stream); second++) {
            world_run(1000);
        }
        CHECK(world.listed > listed);
        CHECK_INT(json_object_size(world.names), OBJECTS);
        world_run(30000); /* the watch is healthy */
    }
    world_close();
}

/* A server that starts, or a proxy before it, knows no kind of ours for seconds. What was there
 * stays, and the newer version is asked for when it is back. */
static void test_a_kind_that_is_missing_for_a_moment(void) {
    for (int seconds = 1; seconds <= 60; seconds += 7) {
        watch_sweeps("/v1beta1/");
        world_run(1000);
        CHECK_INT(world.listed, 1);
        only_version = "none";
        script_cut(stream);
        stream = NULL;
        for (int second = 0; second < seconds; second++) {
            world_run(1000);
            CHECK_INT(json_object_size(world.names), OBJECTS);
        }
        CHECK(world.absences == 0 && world.listings == 1 && kube_error(world.cluster));
        only_version = "/v1"; /* both */
        int64_t back_ms = stepped_clock_ms();
        world_run(60000);
        CHECK(world.listed == 2 && world.absences == 0 && world.deleted == 0);
        CHECK_INT(json_object_size(world.names), OBJECTS);
        CHECK(script_is_open(stream) && !kube_error(world.cluster));
        CHECK(world_count("GET /apis/windlass.dev/v1beta1/sweeps?watch", back_ms) > 0);
        CHECK_INT(world_count("GET /apis/windlass.dev/v1alpha1/", back_ms), 0);
        world_close();
    }
}

/* Without the definition the watch has its answer at once; it finds one that is installed later,
 * and after minutes that one was removed. */
static void test_a_kind_that_comes_and_goes(void) {
    watch_sweeps("none");
    world_run(1000);
    CHECK(world.absences == 1 && kube_is_listed(world.cluster) && !kube_error(world.cluster));
    world_run(120000);
    CHECK(world.absences > 1 && world.absences < 8);
    only_version = "/v1beta1/";
    world_run(31000);
    CHECK_INT(json_object_size(world.names), OBJECTS);
    int absences = world.absences;
    only_version = "none";
    script_cut(stream);
    int64_t gone_ms = stepped_clock_ms();
    world_run(WATCH_ABSENT_MS - 1000);
    CHECK_INT(world.absences, absences);
    CHECK_INT(json_object_size(world.names), OBJECTS);
    CHECK(kube_error(world.cluster) != NULL);
    CHECK(world_count("GET", gone_ms) <= 80); /* for two versions */
    world_run(60000);
    CHECK(world.absences > absences && json_object_size(world.names) == 0);
    CHECK(!kube_error(world.cluster));
    world_close();
}

int main(void) {
    TEST(test_an_older_definition);
    TEST(test_a_kind_that_is_missing_for_a_moment);
    TEST(test_a_kind_that_comes_and_goes);
    return TEST_END();
}
