// SPDX-License-Identifier: Apache-2.0
/* Which events of a watch need not be parsed: those of versions that the answers to our own writes
 * had, of the same objects. */
#include "tests/kube/script_world.h"

static bool has_query(const struct script_request *request, const char *part) {
    return strstr(request->query, part) != NULL;
}

static struct script_connection *stream;
static bool holds_lists;
static struct script_connection *held; /* of a list that gets no answer yet */

static void reply_list(struct script_connection *connection, int version) {
    AUTO(text_freep)
    char *list = x_printf("{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%d\"},"
                          "\"items\":[]}",
                          version);
    script_reply(connection, 200, "", list);
}

/* A list is of version 40, one by a field selector of 50, a creation makes 60. */
static void answer_versions(void *context UNUSED, const struct script_request *request) {
    if (strcmp(request->method, "POST") == 0) {
        script_reply(request->connection, 201, "",
                     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\","
                     "\"resourceVersion\":\"60\",\"uid\":\"u-60\"}}");
    } else if (has_query(request, "sendInitialEvents")) {
        script_reply(request->connection, 422, "", "{\"kind\":\"Status\"}");
    } else if (has_query(request, "watch=true")) {
        stream = request->connection;
        script_stream(stream);
    } else if (has_query(request, "fieldSelector")) {
        reply_list(request->connection, 50);
    } else if (holds_lists) {
        held = request->connection;
    } else {
        reply_list(request->connection, 40);
    }
}

static void send(const char *name, int version, const char *uid) {
    AUTO(text_freep)
    char *line = x_printf("{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{"
                          "\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%d\"}}}\n",
                          name, uid, version);
    script_send(stream, line);
    world_run(100);
}

static void send_version(int version) {
    AUTO(text_freep) char *name = x_printf("v%d", version);
    AUTO(text_freep) char *uid = x_printf("u-%d", version);
    send(name, version, uid);
}

/* The event of a version that the answer to a write had is not reported; that of a list's version
 * is somebody else's. The watch goes on after it. */
static void test_events_of_answered_writes(void) {
    for (int skips = 0; skips < 2; skips++) {
        struct world_write write, list = {0};
        AUTO(tree_freep)
        json_t *like = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                                 "metadata", "namespace", "n");
        world_skips_answered = skips;
        world_open(answer_versions, "token: t");
        world_watch();
        world_run(500);
        world.cluster->ops->list(world.cluster, like, "metadata.name=x", world_written, &list);
        world_begin(CLUSTER_CREATE, "x", &write);
        world_run(500);
        CHECK(list.ended && !list.err.kind && write.ended && !write.err.kind);
        send_version(50);
        send_version(60);
        CHECK(json_object_get(world.names, "v50") != NULL);
        CHECK_INT(json_object_get(world.names, "v60") == NULL, skips);
        script_cut(stream);
        world_run(30000);
        CHECK(world_count("GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true&"
                          "resourceVersion=60",
                          0) > 0);
        send_version(61);
        CHECK(json_object_get(world.names, "v61") != NULL);
        /* of a kind in another etcd, which counts its own versions */
        send("other", 60, "u-61");
        CHECK(json_object_get(world.names, "other") != NULL);
        CHECK_INT(world.listed, 1);
        world_close();
    }
    world_skips_answered = false;
}

/* The server made the list before our write, and sends it after the write's answer: a cache that
 * goes by the list needs the event. */
static void test_a_list_that_is_older_than_an_answer(void) {
    struct world_write write;
    world_skips_answered = holds_lists = true;
    world_open(answer_versions, "token: t");
    world_watch();
    world_run(500);
    CHECK(held && world.listings == 0);
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(500);
    CHECK(write.ended && !write.err.kind);
    reply_list(held, 40);
    world_run(500);
    CHECK_INT(world.listed, 1);
    CHECK_INT(json_object_size(world.names), 0);
    send_version(60);
    CHECK(json_object_get(world.names, "v60") != NULL);
    world_close();
    world_skips_answered = holds_lists = false;
}

int main(void) {
    TEST(test_events_of_answered_writes);
    TEST(test_a_list_that_is_older_than_an_answer);
    return TEST_END();
}
