// SPDX-License-Identifier: Apache-2.0
/* Lists, watches and writes of operator/kube against a real API server, and through a proxy that
 * breaks them. From the environment (tests/e2e/cluster/test_kube_client.sh sets it):
 *   WINDLASS_TEST_FOLDER   the server's folder, with kubeconfig and proxy/
 *   WINDLASS_TEST_SERVER   the script that restarts it and compacts its etcd; unset: none */
#include "operator/kube/watch.h"
#include "tests/kube/things.h"

static const char *folder;
static char *straight, *broken; /* kubeconfigs: to the server, through the proxy */

/* Runs `api-server.sh WHAT FOLDER`. */
static void server(const char *what) {
    AUTO(text_freep)
    char *command = x_printf("%s %s %s", getenv("WINDLASS_TEST_SERVER"), what, folder);
    CHECK_INT(system(command), 0);
}

static void set_faults(const char *rows) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/proxy/faults", folder);
    CHECK_OK(file_write(path, rows, strlen(rows), &err), &err);
}

static int count_faults(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/proxy/counts", folder);
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *counts = NULL;
    size_t size = 0;
    if (file_read(path, 65536, &text, &size, &err) < 0 ||
        tree_parse(text, size, 65536, &counts, &err) < 0) {
        return 0;
    }
    return (int)json_integer_value(json_object_get(counts, name));
}

static int64_t value_of(const struct things *things, const char *name) {
    return tree_integer(json_object_get(things->seen, name), "spec.value", -1);
}

static size_t count_values(const struct things *things, int64_t value) {
    size_t count = 0;
    const char *name;
    json_t *object;
    json_object_foreach(things->seen, name, object) {
        count += tree_integer(object, "spec.value", -1) == value;
    }
    return count;
}

static bool all_have(const struct things *things, int64_t value) {
    return count_values(things, value) == json_object_size(things->seen);
}

static void test_1200_objects(void) {
    enum { COUNT = 1200 };
    struct things writer, reader;
    struct tally_of_writes tally;
    things_open(&writer, straight, NULL);
    remove_all(&writer);
    int64_t start_ms = clock_monotonic_ms();
    write_many(&writer, CLUSTER_CREATE, "page", COUNT, 1, &tally);
    int64_t took_ms = clock_monotonic_ms() - start_ms;
    printf("# %d creates in %lld ms: %lld a second\n", COUNT, (long long)took_ms,
           (long long)(COUNT * 1000 / MAX(took_ms, 1)));
    CHECK_INT(tally.failed[ERROR_CONFLICT], 0);
    CHECK(THINGS_UNTIL(&writer, 10000, json_object_size(writer.seen) == COUNT));
    start_ms = clock_monotonic_ms();
    things_open(&reader, straight, LABEL_JOB);
    CHECK(THINGS_UNTIL(&reader, 60000, reader.listed));
    printf("# listed in %lld ms\n", (long long)(clock_monotonic_ms() - start_ms));
    CHECK_INT(json_object_size(reader.seen), COUNT);
    CHECK(reader.listings <= 2); /* as a watch; or pages, and then all of them */
    /* Many changes all arrive, and nothing is listed twice. */
    write_many(&writer, CLUSTER_APPLY, "page", COUNT, 2, &tally);
    CHECK(THINGS_UNTIL(&reader, 60000, all_have(&reader, 2)));
    CHECK_INT(tally.failed[ERROR_CONFLICT], 0);
    CHECK(reader.listings <= 2);
    remove_all(&writer);
    CHECK(THINGS_UNTIL(&reader, 60000, !json_object_size(reader.seen)));
    things_close(&reader);
    things_close(&writer);
}

static void test_writes_and_their_refusals(void) {
    struct things things;
    struct error err = {0};
    things_open(&things, straight, NULL);
    remove_all(&things);
    AUTO(tree_freep) json_t *first = thing_write(&things, CLUSTER_CREATE, thing_new("a", 1), &err);
    CHECK_OK(first ? 0 : -1, &err);
    CHECK(!thing_write(&things, CLUSTER_CREATE, thing_new("a", 2), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    CHECK(!thing_write(&things, CLUSTER_CREATE, thing_new("b", -1), &err));
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "spec.value"));
    error_clear(&err);
    /* status: by version, by uid, of a missing object */
    json_t *changed = json_deep_copy(first);
    json_object_set_new(changed, "status", json_pack("{s:s}", "phase", "one"));
    AUTO(tree_freep)
    json_t *second = thing_write(&things, CLUSTER_STATUS, json_incref(changed), &err);
    CHECK_STR(tree_text(second, "status.phase", NULL), "one");
    CHECK(!thing_write(&things, CLUSTER_STATUS, json_incref(changed), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    json_t *metadata = json_object_get(changed, "metadata");
    json_object_set_new(metadata, "resourceVersion",
                        json_string(tree_text(second, "metadata.resourceVersion", "")));
    json_object_set_new(metadata, "uid", json_string("another"));
    CHECK(!thing_write(&things, CLUSTER_STATUS, json_incref(changed), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    CHECK(!thing_write(&things, CLUSTER_APPLY, json_incref(changed), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    /* deleting an object of that name with another uid does not fail, and deletes nothing */
    CHECK_OK(things_write(&things, CLUSTER_DELETE, changed, NULL, &err), &err);
    json_object_set_new(metadata, "name", json_string("none"));
    CHECK(!thing_write(&things, CLUSTER_STATUS, changed, &err));
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    error_clear(&err);
    AUTO(tree_freep) json_t *fourth = thing_write(&things, CLUSTER_APPLY, thing_new("a", 3), &err);
    CHECK_STR(tree_text(fourth, "metadata.uid", NULL), tree_text(first, "metadata.uid", ""));
    CHECK_STR(tree_text(fourth, "status.phase", NULL), "one");
    CHECK(THINGS_UNTIL(&things, 5000, value_of(&things, "a") == 3));
    things_close(&things);
}

/* Server-side apply as somebody else does it. */
static void apply_as_mine(const char *name, int value) {
    AUTO(text_freep)
    char *command = x_printf(
        "%s/curl '/apis/test.windlass.dev/v1/namespaces/default/things/%s?fieldManager=mine' -X "
        "PATCH -H 'Content-Type: application/apply-patch+yaml' -d '{\"apiVersion\": "
        "\"test.windlass.dev/v1\", \"kind\": \"Thing\", \"metadata\": {\"name\": \"%s\", "
        "\"annotations\": {\"mine\": \"%d\"}}, \"spec\": {\"value\": %d}}' >/dev/null",
        folder, name, name, value, value);
    CHECK_INT(system(command), 0);
}

/* Whether the managers of its fields are as that condition of jq says. */
static bool are_managers(const char *name, const char *condition) {
    AUTO(text_freep)
    char *command =
        x_printf("%s/curl /apis/test.windlass.dev/v1/namespaces/default/things/%s | jq -e "
                 "'.metadata.managedFields | %s' >/dev/null",
                 folder, name, condition);
    return system(command) == 0;
}

/* A status is written without touching what another manager has applied: its fields stay its own,
 * and a second apply changes them. */
static void test_a_status_leaves_other_managers_alone(void) {
    struct things things;
    struct error err = {0};
    things_open(&things, straight, NULL);
    remove_all(&things);
    for (int value = 1; value <= 2; value++) {
        apply_as_mine("shared", value);
        CHECK(THINGS_UNTIL(&things, 60000, value_of(&things, "shared") == value));
        json_t *changed = json_deep_copy(json_object_get(things.seen, "shared"));
        json_object_set_new(changed, "status", json_pack("{s:i}", "count", value));
        AUTO(tree_freep) json_t *stored = thing_write(&things, CLUSTER_STATUS, changed, &err);
        CHECK_OK(stored ? 0 : -1, &err);
        CHECK_INT(tree_integer(stored, "status.count", 0), value);
        CHECK_INT(tree_integer(stored, "spec.value", 0), value);
        CHECK(are_managers("shared", "any(.[]; .manager == \"mine\" and .operation == \"Apply\" "
                                     "and .fieldsV1[\"f:spec\"][\"f:value\"] == {} and "
                                     ".fieldsV1[\"f:metadata\"][\"f:annotations\"][\"f:mine\"] "
                                     "== {})"));
        CHECK(are_managers("shared", "[.[] | select(.manager != \"mine\") | .fieldsV1 | keys[]] | "
                                     "unique == [\"f:status\"]"));
    }
    remove_all(&things);
    things_close(&things);
}

/* Until 1.24 the server drops an unknown field silently. */
static void test_a_wrong_field_is_refused_where_the_server_can(void) {
    struct things things;
    struct error err = {0};
    things_open(&things, straight, NULL);
    remove_all(&things);
    json_t *wrong = thing_new("a", 1);
    json_object_set_new(json_object_get(wrong, "spec"), "valve", json_integer(1));
    AUTO(tree_freep) json_t *stored = thing_write(&things, CLUSTER_CREATE, wrong, &err);
    if (getenv("WINDLASS_TEST_SERVER")) { /* 1.20 */
        CHECK(stored && !tree_get(stored, "spec.valve"));
    } else {
        CHECK(!stored);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, "unknown field \"spec.valve\""));
    }
    things_close(&things);
}

static void test_a_cut_watch_goes_on_where_it_was(void) {
    struct things writer, reader;
    struct tally_of_writes tally;
    int before = count_faults("cut");
    things_open(&writer, straight, NULL);
    remove_all(&writer);
    set_faults("[{\"watch\": true, \"cutAfterLines\": 7}]");
    things_open(&reader, broken, NULL);
    CHECK(THINGS_UNTIL(&reader, 10000, reader.listed));
    for (int64_t value = 1; value <= 3; value++) {
        write_many(&writer, CLUSTER_APPLY, "cut", 40, value, &tally);
        CHECK(THINGS_UNTIL(&reader, 60000,
                           json_object_size(reader.seen) == 40 && all_have(&reader, value)));
    }
    CHECK(count_faults("cut") >= before + 3);
    CHECK_INT(reader.listings, 1); /* only half a line was lost */
    set_faults("[]");
    things_close(&reader);
    things_close(&writer);
}

static void test_answers_of_trouble_are_tried_again(void) {
    struct things things;
    struct tally_of_writes tally;
    things_open(&things, straight, NULL);
    remove_all(&things);
    things_close(&things);
    set_faults("[{\"watch\": false, \"share\": 0.1, \"status\": 500, \"retryAfter\": 1},"
               " {\"watch\": false, \"share\": 0.1, \"status\": 429, \"retryAfter\": 1},"
               " {\"watch\": false, \"share\": 0.05, \"status\": 503}]");
    things_open(&things, broken, NULL);
    write_many(&things, CLUSTER_APPLY, "trouble", 60, 1, &tally);
    for (int i = 0; i < ERROR_KIND_COUNT; i++) {
        CHECK_INT(tally.failed[i], 0);
    }
    CHECK(THINGS_UNTIL(&things, 60000, things.listed && all_have(&things, 1)));
    CHECK(count_faults("500") > 0 && count_faults("429") > 0 && count_faults("503") > 0);
    set_faults("[{\"status\": 500}]");
    AUTO(tree_freep) json_t *object = thing_new("trouble-0", 2);
    struct error err = {0};
    CHECK_INT(things_write(&things, CLUSTER_APPLY, object, NULL, &err), -1);
    CHECK(err.kind == ERROR_UNAVAILABLE || err.kind == ERROR_TIMEOUT); /* it fails at last */
    set_faults("[]");
    things_close(&things);
}

/* The server did the write but the answer was lost: a second try must not make a second object. */
static void test_lost_answers(void) {
    struct things things;
    struct tally_of_writes tally;
    things_open(&things, broken, NULL);
    remove_all(&things);
    int before = count_faults("lost");
    set_faults("[{\"method\": \"POST\", \"share\": 0.3, \"cutBefore\": true},"
               " {\"method\": \"DELETE\", \"share\": 0.3, \"cutBefore\": true}]");
    write_many(&things, CLUSTER_CREATE, "lost", 60, 1, &tally);
    CHECK(count_faults("lost") > before);
    CHECK(tally.failed[ERROR_CONFLICT] > 0);
    for (int i = 0; i < ERROR_KIND_COUNT; i++) {
        CHECK(i == ERROR_CONFLICT || tally.failed[i] == 0);
    }
    CHECK(THINGS_UNTIL(&things, 10000, json_object_size(things.seen) == 60));
    remove_all(&things);
    set_faults("[]");
    things_close(&things);
}

static void test_a_stall_holds_up_nobody_else(void) {
    struct things things;
    struct tally_of_writes stalled = {0}, others;
    things_open(&things, broken, NULL);
    CHECK(THINGS_UNTIL(&things, 10000, things.listed));
    set_faults("[{\"method\": \"PATCH\", \"path\": \"things/slow\", \"times\": 1,"
               " \"stallSeconds\": 35}]");
    AUTO(tree_freep) json_t *slow = thing_new("slow", 1);
    int64_t start_ms = clock_monotonic_ms();
    things.cluster->ops->write(things.cluster, CLUSTER_APPLY, slow, count_write, &stalled);
    things_wait(&things, 200);
    write_many(&things, CLUSTER_APPLY, "quick", 20, 1, &others);
    CHECK(clock_monotonic_ms() - start_ms < 10000);
    CHECK_INT(stalled.done, 0);
    CHECK(THINGS_UNTIL(&things, 40000, stalled.done));
    CHECK(stalled.failed[ERROR_TIMEOUT] == 0); /* the second try did it */
    CHECK(THINGS_UNTIL(&things, 5000, value_of(&things, "slow") == 1));
    /* The abandoned try arrives in the end; it would create the removed object again. */
    CHECK(THINGS_UNTIL(&things, 40000, clock_monotonic_ms() - start_ms > 37000));
    set_faults("[]");
    remove_all(&things);
    things_close(&things);
}

/* A restarted server does not know the position of an old stream: 410. */
static void test_a_restart_lists_anew(void) {
    if (!getenv("WINDLASS_TEST_SERVER")) {
        SKIP("this server cannot be restarted");
    }
    struct things things;
    struct tally_of_writes tally;
    things_open(&things, straight, NULL);
    remove_all(&things);
    write_many(&things, CLUSTER_APPLY, "restart", 20, 1, &tally);
    CHECK_INT(things.listings, 1);
    /* Something else is written, so that the new server's history starts after our position. */
    struct error err = {0};
    AUTO(tree_freep)
    json_t *other = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind",
                              "ConfigMap", "metadata", "name", "other", "data", "at", "now");
    AUTO(text_freep) char *now = x_printf("%lld", (long long)clock_wall_ms());
    json_object_set_new(json_object_get(other, "data"), "at", json_string(now));
    CHECK_OK(things_write(&things, CLUSTER_APPLY, other, NULL, &err), &err);
    server("restart");
    CHECK(THINGS_UNTIL(&things, 40000, things.listed > 1));
    CHECK_INT(json_object_size(things.seen), 20);
    CHECK(!kube_error(things.cluster));
    write_many(&things, CLUSTER_APPLY, "restart", 20, 2, &tally);
    CHECK(THINGS_UNTIL(&things, 10000, all_have(&things, 2)));
    remove_all(&things);
    things_close(&things);
}

/* While the server is away writes and watches wait, and then continue. */
static void test_a_server_that_is_away(void) {
    if (!getenv("WINDLASS_TEST_SERVER")) {
        SKIP("this server cannot be restarted");
    }
    struct things things;
    struct tally_of_writes tally = {0};
    things_open(&things, straight, NULL);
    remove_all(&things);
    server("kill");
    AUTO(tree_freep) json_t *object = thing_new("away", 1);
    things.cluster->ops->write(things.cluster, CLUSTER_APPLY, object, count_write, &tally);
    CHECK(THINGS_UNTIL(&things, 5000, kube_error(things.cluster)));
    server("restart");
    CHECK(THINGS_UNTIL(&things, 40000, tally.done && !kube_error(things.cluster)));
    if (tally.failed[ERROR_UNAVAILABLE]) { /* it was away for longer than one write tries */
        write_many(&things, CLUSTER_APPLY, "away", 1, 1, &tally);
    }
    CHECK(THINGS_UNTIL(&things, 40000, json_object_size(things.seen) == 1));
    remove_all(&things);
    things_close(&things);
}

/* 500 things are listed in two pages. Between two pages some are changed, and etcd is compacted.
 * Returns whether the list was begun anew because of it: on a busy machine the stall between the
 * pages may be over first, and then the list was complete. */
static bool list_while_compacting(struct things *writer) {
    enum { COUNT = 500, CHANGED = 20 }; /* few: the client waits for an answer for a limited time */
    struct things reader;
    struct tally_of_writes tally = {0};
    remove_all(writer);
    write_many(writer, CLUSTER_CREATE, "compact", COUNT, 1, &tally);
    /* The stall ends when the writes and the compaction are done. */
    set_faults("[{\"method\": \"GET\", \"path\": \"continue=\", \"times\": 1,"
               " \"stallSeconds\": 25, \"untilChanged\": true}]");
    things_open(&reader, broken, NULL);
    CHECK(THINGS_UNTIL(&reader, 60000, json_object_size(reader.seen) >= WATCH_FIRST_PAGE));
    write_many(writer, CLUSTER_APPLY, "compact", CHANGED, 2, &tally);
    server("compact");
    set_faults("[]");
    CHECK(THINGS_UNTIL(&reader, 60000, reader.listed));
    CHECK_INT(json_object_size(reader.seen), COUNT);
    CHECK(THINGS_UNTIL(&reader, 60000, count_values(&reader, 2) == CHANGED));
    bool is_anew = reader.listings == 2; /* the first had a first page only */
    things_close(&reader);
    return is_anew;
}

/* A long list comes in pages. Meanwhile etcd forgets the state that they are read from: a real 410
 * in the middle of the list. */
static void test_a_list_that_is_compacted_away(void) {
    if (!getenv("WINDLASS_TEST_SERVER")) {
        SKIP("this server's etcd cannot be compacted");
    }
    struct things writer;
    bool is_anew = false;
    things_open(&writer, straight, NULL);
    for (int i = 0; i < 4 && !is_anew; i++) {
        is_anew = list_while_compacting(&writer);
    }
    CHECK(is_anew);
    remove_all(&writer);
    things_close(&writer);
}

/* The server's cache of a kind without changes stays behind etcd while others change: a list that
 * asks it for a newer version waits 3 s and gets "Too large resource version". */
static void test_a_quiet_kind_beside_a_busy_one(void) {
    enum { COUNT = 60, LIMIT_MS = 2500 };
    if (!getenv("WINDLASS_TEST_SERVER")) {
        SKIP("this server has no other kind");
    }
    struct error err = {0};
    struct things writer, reader;
    struct tally_of_writes tally;
    things_open(&writer, straight, NULL);
    write_many(&writer, CLUSTER_CREATE, "quiet", COUNT, 1, &tally);
    CHECK(THINGS_UNTIL(&writer, 10000, json_object_size(writer.seen) == COUNT));
    AUTO(tree_freep)
    json_t *busy = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                             "metadata", "name", "busy");
    CHECK_OK(things_write(&writer, CLUSTER_CREATE, busy, NULL, &err), &err);
    CHECK_OK(things_write(&writer, CLUSTER_DELETE, busy, NULL, &err), &err);
    int64_t start_ms = clock_monotonic_ms();
    things_open(&reader, straight, NULL);
    CHECK(THINGS_UNTIL(&reader, 60000, reader.listed));
    printf("# %d objects of a quiet kind listed in %lld ms\n", COUNT,
           (long long)(clock_monotonic_ms() - start_ms));
    CHECK(clock_monotonic_ms() - start_ms < LIMIT_MS);
    CHECK_INT(json_object_size(reader.seen), COUNT);
    things_close(&reader);
    remove_all(&writer);
    things_close(&writer);
}

/* Where a kind is optional, a missing definition is an empty list: the other kinds work. */
static void test_a_kind_that_is_absent(void) {
    struct error err = {0};
    struct things things;
    things_open(&things, straight, NULL);
    CHECK_OK(things.cluster->ops->watch(things.cluster, THINGS_API, "Nothing", NULL, true, &err),
             &err);
    CHECK(THINGS_UNTIL(&things, 10000, kube_is_listed(things.cluster)));
    CHECK(!kube_error(things.cluster));
    CHECK_OK(things.cluster->ops->watch(things.cluster, THINGS_API, "Neither", NULL, false, &err),
             &err);
    CHECK(THINGS_UNTIL(&things, 10000, kube_error(things.cluster) != NULL));
    CHECK(!kube_is_listed(things.cluster));
    things_close(&things);
}

int main(void) {
    folder = getenv("WINDLASS_TEST_FOLDER");
    if (!folder) {
        fprintf(stderr, "WINDLASS_TEST_FOLDER: the folder of an API server is expected\n");
        return 3;
    }
    straight = x_printf("%s/kubeconfig", folder);
    broken = x_printf("%s/proxy/kubeconfig", folder);
    TEST(test_1200_objects);
    TEST(test_writes_and_their_refusals);
    TEST(test_a_status_leaves_other_managers_alone);
    TEST(test_a_wrong_field_is_refused_where_the_server_can);
    TEST(test_a_cut_watch_goes_on_where_it_was);
    TEST(test_answers_of_trouble_are_tried_again);
    TEST(test_lost_answers);
    TEST(test_a_stall_holds_up_nobody_else);
    TEST(test_a_restart_lists_anew);
    TEST(test_a_server_that_is_away);
    TEST(test_a_list_that_is_compacted_away);
    TEST(test_a_quiet_kind_beside_a_busy_one);
    TEST(test_a_kind_that_is_absent);
    free(straight);
    free(broken);
    return TEST_END();
}
