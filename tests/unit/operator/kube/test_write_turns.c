// SPDX-License-Identifier: Apache-2.0
/* How often a write is tried that nothing asks again, and that writes that are held go
 * before newer ones of their namespace. */
#include "tests/kube/script_world.h"

/* ---- tries ---- */

static const char *says; /* NULL: nothing of use */

static void answer_twice_500(void *context UNUSED, const struct script_request *request) {
    AUTO(text_freep)
    char *body = x_printf("{\"kind\":\"Status\",\"message\":\"%s\"}", says ? says : "restarted");
    script_reply(request->connection, world.count > 2 ? 201 : 500, "",
                 world.count > 2 ? "{\"metadata\":{\"name\":\"x\"},\"items\":[]}" : body);
}

/* A list, and an Event with and without a done, that meet a 500: lost with their last try. */
static void test_what_nobody_asks_again(void) {
    enum { LIST, EVENT, EVENT_WITHOUT_DONE, KINDS };
    static const char *const causes[] = {NULL, "failed calling webhook w",
                                         "etcdserver: mvcc: database space exceeded"};
    AUTO(tree_freep)
    json_t *event = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "events.k8s.io/v1", "kind",
                              "Event", "metadata", "name", "x", "namespace", "n");
    for (int i = 0; i < KINDS * (int)ARRAY_LEN(causes); i++) {
        struct world_write write = {0};
        bool has_done = i % KINDS != EVENT_WITHOUT_DONE, is_told = causes[i / KINDS] != NULL;
        world_open(answer_twice_500, "token: t");
        says = causes[i / KINDS];
        if (i % KINDS == LIST) {
            world.cluster->ops->list(world.cluster, event, "metadata.name=x", world_written,
                                     &write);
        } else {
            world.cluster->ops->write(world.cluster, CLUSTER_CREATE, event,
                                      has_done ? world_written : NULL, &write);
        }
        world_run(200000);
        CHECK_INT(world.count, is_told ? KUBE_REFUSED_TRIES_MAX : 3);
        CHECK_INT(write.ended, has_done);
        CHECK_INT(write.err.kind, has_done && is_told ? ERROR_UNAVAILABLE : ERROR_NONE);
        world_close();
    }
}

/* ---- answers of something else ---- */

static const char *instead; /* once; then what was asked for */

static void answer_instead_once(void *context UNUSED, const struct script_request *request) {
    script_reply(request->connection, 200, "",
                 world.count > 1 ? "{\"metadata\":{\"name\":\"x\"},\"items\":[]}" : instead);
}

/* JSON that is neither the object nor a list proves nothing: not that it is stored, and not that
 * nothing is there. */
static void test_json_that_is_not_the_answer(void) {
    static const char *const answers[] = {"{}", "[]", "1", "{\"kind\":\"Status\"}",
                                          "{\"metadata\":{\"name\":5}}"};
    AUTO(tree_freep)
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Secret",
                               "metadata", "name", "x", "namespace", "n");
    for (size_t i = 0; i < 2 * ARRAY_LEN(answers); i++) {
        struct world_write write = {0};
        instead = answers[i / 2];
        world_open(answer_instead_once, "token: t");
        if (i % 2) {
            world.cluster->ops->list(world.cluster, object, "metadata.name=x", world_written,
                                     &write);
        } else {
            world.cluster->ops->write(world.cluster, CLUSTER_CREATE, object, world_written, &write);
        }
        world_run(5000);
        CHECK_INT(world.count, 2);
        CHECK_INT(write.ended, 1);
        CHECK_INT(write.err.kind, ERROR_NONE);
        world_close();
    }
}

/* ---- what has failed before ---- */

static int status_now;

static void answer_status(void *context UNUSED, const struct script_request *request) {
    script_reply(request->connection, status_now, "", "{\"metadata\":{\"name\":\"x\"}}");
}

/* The requests of one creation. */
static int requests_of(const char *kind, const char *namespace, int status) {
    struct world_write write = {0};
    size_t before = world.count;
    AUTO(tree_freep)
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", kind,
                               "metadata", "name", "x", "namespace", namespace);
    status_now = status;
    world.cluster->ops->write(world.cluster, CLUSTER_CREATE, object, world_written, &write);
    world_run(400000);
    CHECK_INT(write.ended, 1);
    return (int)(world.count - before);
}

/* Who asks again has a delay of its own: eight tries each time would be several times as many
 * requests, for as long as a server or webhook fails. */
static void test_what_has_failed_before_is_tried_once(void) {
    static const int statuses[] = {429, 503, 504};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        world_open(answer_status, "token: t");
        CHECK_INT(requests_of("Pod", "n", statuses[i]), KUBE_WRITE_TRIES_MAX);
        CHECK_INT(requests_of("Pod", "n", statuses[i]), 1);
        CHECK_INT(requests_of("Pod", "m", statuses[i]), KUBE_WRITE_TRIES_MAX);
        CHECK_INT(requests_of("Event", "n", statuses[i]), KUBE_WRITE_TRIES_MAX);
        CHECK_INT(requests_of("Event", "n", statuses[i]), KUBE_WRITE_TRIES_MAX);
        CHECK_INT(requests_of("Pod", "n", 201), 1);
        CHECK_INT(requests_of("Pod", "n", statuses[i]), KUBE_WRITE_TRIES_MAX);
        world_close();
    }
}

/* ---- turns ---- */

enum { FIRST = 30, HELD = 40, NEWER = 20 };

static bool is_well;
static int begun; /* newer ones */

static void answer_when_well(void *context UNUSED, const struct script_request *request) {
    script_reply(request->connection, is_well ? 201 : 503, "", "{}");
}

static void begin(const char *name, int number, cluster_done *done) {
    AUTO(text_freep) char *whole = x_printf("%s-%d", name, number);
    AUTO(tree_freep)
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                               "metadata", "name", whole, "namespace", "n");
    world.cluster->ops->write(world.cluster, CLUSTER_DELETE, object, done, NULL);
}

/* As the controller does: the end of a write leads to the next one. */
static void begin_newer(void *context UNUSED, const json_t *stored UNUSED,
                        const struct error *err UNUSED) {
    if (begun < NEWER) {
        begin("newer", begun++, begin_newer);
    }
}

/* Requests whose path has the text, up to that one. */
static int count_until(const char *part, size_t end) {
    int count = 0;
    for (size_t i = 0; i < end; i++) {
        count += strstr(world.seen[i].what, part) != NULL;
    }
    return count;
}

/* Writes wait while their namespace is refused; then it is well, and each end of a write begins
 * another one: they go first. */
static void test_held_writes_are_not_overtaken(void) {
    world_open(answer_when_well, "token: t");
    for (int i = 0; i < FIRST; i++) {
        begin("first", i, begin_newer);
    }
    world_run(3000);
    CHECK_INT(count_until("held", world.count), 0);
    for (int i = 0; i < HELD; i++) {
        begin("held", i, NULL);
    }
    is_well = true;
    world_run(60000);
    size_t newer = 0;
    while (newer < world.count && !strstr(world.seen[newer].what, "newer")) {
        newer++;
    }
    printf("# %d of %d held ones before the first newer one, %zu requests\n",
           count_until("held", newer), HELD, world.count);
    CHECK_INT(count_until("newer", world.count), NEWER);
    CHECK_INT(count_until("held", newer), HELD);
    world_close();
}

int main(void) {
    TEST(test_what_nobody_asks_again);
    TEST(test_json_that_is_not_the_answer);
    TEST(test_what_has_failed_before_is_tried_once);
    TEST(test_held_writes_are_not_overtaken);
    return TEST_END();
}
