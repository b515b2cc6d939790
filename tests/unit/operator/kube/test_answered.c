// SPDX-License-Identifier: Apache-2.0
/* Which events of a watch need not be parsed: those of versions that the answers to our own writes
 * had, of the same objects. */
#include "tests/kube/script_world.h"

static bool has_query(const struct script_request *request, const char *part) {
    return strstr(request->query, part) != NULL;
}

static struct script_connection *stream;

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
    } else {
        AUTO(text_freep)
        char *list = x_printf("{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%d\"},"
                              "\"items\":[]}",
                              has_query(request, "fieldSelector") ? 50 : 40);
        script_reply(request->connection, 200, "", list);
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

int main(void) {
    TEST(test_events_of_answered_writes);
    return TEST_END();
}
