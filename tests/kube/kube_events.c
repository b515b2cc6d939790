// SPDX-License-Identifier: Apache-2.0
/* The Events that the controller sends, on a real API server: one for each reason in ten minutes,
 * then their number in its series, or a second Event when the notes differ. The recorder gets the
 * times; the requests are the controller's.
 *   WINDLASS_TEST_FOLDER   the server's folder, with a kubeconfig
 *   WINDLASS_TEST_SERVER   the script that started it, of 1.20 */
#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/control/event_recorder.h"
#include "operator/control/reconcile.h"
#include "operator/kube/kube.h"
#include "tests/test.h"

#include <assert.h>
#include <stdlib.h>

static struct cluster *cluster;
static struct event_recorder *recorder, *recorders[4]; /* the present one; all of them */
static size_t recorder_count;
static json_t *listed; /* the items of the last answer; NULL: none yet */

static void on_list(void *context UNUSED, const json_t *list, const struct error *err) {
    if (err) {
        printf("# %s\n", err->text);
    }
    json_decref(listed);
    listed = list ? json_incref(json_object_get(list, "items")) : json_array();
}

/* Another recorder. Those before are kept until the cluster is closed, as answers may be on their
 * way to them. */
static void start_recorder(void) {
    assert(recorder_count < ARRAY_LEN(recorders));
    recorder = recorders[recorder_count++] = event_recorder_new(cluster);
}

/* The Events of the namespace that have that reason; owned. */
static json_t *events_of(const char *reason) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "events.k8s.io/v1", "kind",
                             "Event", "metadata", "namespace", "default");
    json_decref(listed);
    listed = NULL;
    cluster->ops->list(cluster, like, "metadata.namespace=default", on_list, NULL);
    while (!listed) {
        CHECK_OK(cluster->ops->wait(cluster, 1000, NULL, NULL, &err), &err);
    }
    json_t *found = json_array(), *event;
    size_t i;
    json_array_foreach(listed, i, event) {
        if (strcmp(tree_text(event, "reason", ""), reason) == 0) {
            json_array_append(found, event);
        }
    }
    return found;
}

/* Waits until there are this many, the first with that count in its series (0: none); owned. */
static json_t *wait_for(const char *reason, size_t count, int series) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    for (;;) {
        json_t *found = events_of(reason);
        bool is_there = json_array_size(found) == count &&
                        tree_integer(json_array_get(found, 0), "series.count", 0) == series;
        if (is_there || clock_monotonic_ms() > end_ms) {
            CHECK_INT(json_array_size(found), count);
            CHECK_INT(tree_integer(json_array_get(found, 0), "series.count", 0), series);
            return found;
        }
        json_decref(found);
        CHECK_OK(cluster->ops->wait(cluster, 100, NULL, NULL, &err), &err);
    }
}

/* A pass over the job reports it; minute: of the recorder's clock. */
static void tell_of(const char *name, const char *reason, const char *note, int minute) {
    AUTO(tree_freep)
    json_t *object = json_pack("{s:s, s:{s:s, s:s}}", "apiVersion", "windlass.dev/v1beta1",
                               "metadata", "name", name, "uid", "u");
    AUTO(tree_freep) json_t *events = json_array();
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = name,
                                .object = object,
                                .wall_ms = clock_wall_ms() + minute * 60000LL,
                                .events = events};
    const struct reconcile_event event = {.type = "Warning", .reason = reason, .note = note};
    event_recorder_add(&request, &event);
    event_recorder_send(recorder, tree_get(json_array_get(events, 0), "event"), minute * 60000LL);
}

static void tell(const char *reason, const char *note, int minute) {
    tell_of("job", reason, note, minute);
}

static void step(int minute) {
    event_recorder_step(recorder, minute * 60000LL);
}

static void test_what_repeats_is_a_series(void) {
    start_recorder();
    for (int minute = 0; minute < 4; minute++) {
        AUTO(text_freep) char *note = x_printf("pod job-worker-%d: exceeded quota", minute);
        tell("QuotaExceeded", note, minute);
        AUTO(tree_freep) json_t *one = wait_for("QuotaExceeded", 1, 0);
        CHECK_STR(tree_text(one, "[0].note", ""), "pod job-worker-0: exceeded quota");
        CHECK_STR(tree_text(one, "[0].regarding.name", ""), "job");
    }
    step(10);
    AUTO(tree_freep) json_t *series = wait_for("QuotaExceeded", 1, 4);
    CHECK_STR(tree_text(series, "[0].note", ""), "pod job-worker-0: exceeded quota");
    tell("QuotaExceeded", "pod job-worker-9: exceeded quota", 12);
    step(20);
    AUTO(tree_freep) json_t *more = wait_for("QuotaExceeded", 1, 5);
    CHECK(strcmp(tree_text(more, "[0].series.lastObservedTime", ""),
                 tree_text(series, "[0].series.lastObservedTime", "")) > 0);
}

static void test_other_notes_are_a_second_event(void) {
    start_recorder();
    tell("PodFailed", "exit code 3: disk full", 0);
    AUTO(tree_freep) json_t *one = wait_for("PodFailed", 1, 0);
    AUTO(text_freep) char *long_note = x_malloc(3001); /* longer than an Event may have */
    memset(long_note, 'x', 3000);
    long_note[3000] = 0;
    tell("PodFailed", "exit code 4: no such file", 1);
    tell("PodFailed", long_note, 2);
    step(10);
    AUTO(tree_freep) json_t *two = wait_for("PodFailed", 2, 0);
    const char *first = tree_text(two, "[0].note", ""), *second = tree_text(two, "[1].note", "");
    CHECK(text_starts(first, "(2 like it in ten minutes) xxx") ||
          text_starts(second, "(2 like it in ten minutes) xxx"));
}

/* ---- the server's own rules ---- */

struct answer {
    bool ended;
    struct error err;
};

static void on_written(void *context, const json_t *stored UNUSED, const struct error *err) {
    struct answer *answer = context;
    answer->ended = true;
    answer->err = err ? *err : (struct error){0};
}

/* The kind of its error; 0: it was taken. */
static int write_event(enum cluster_verb verb, const json_t *event) {
    struct answer answer = {0};
    struct error err = {0};
    cluster->ops->write(cluster, verb, event, on_written, &answer);
    while (!answer.ended) {
        CHECK_OK(cluster->ops->wait(cluster, 1000, NULL, NULL, &err), &err);
    }
    return answer.err.kind;
}

/* An Event as the recorder makes it. Owned. */
static json_t *plain_event(const char *name) {
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s,"
                     " s:s, s:s}}",
                     "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", name,
                     "namespace", "default", "eventTime", "2026-11-28T10:00:00.000000Z", "type",
                     "Normal", "reason", "Running", "action", "Reconcile", "note", "x",
                     "reportingController", "windlass.dev/controller", "reportingInstance", "pod-1",
                     "regarding", "apiVersion", "windlass.dev/v1beta1", "kind", "BatchScore",
                     "namespace", "default", "name", "job", "uid", "u");
}

/* That the server refuses these shows that it would refuse ours. */
static void test_what_the_server_refuses(void) {
    static const struct {
        const char *field, *value; /* NULL: without the field */
    } rows[] = {{"eventTime", NULL},
                {"eventTime", "yesterday"},
                {"type", "Error"},
                {"reason", NULL},
                {"action", NULL},
                {"reportingController", NULL},
                {"reportingController", "a b"},
                {"reportingInstance", NULL},
                {"reportingInstance", ""}};
    AUTO(text_freep) char *long_text = x_malloc(1026);
    memset(long_text, 'x', 1025);
    long_text[1025] = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *name = x_printf("refused-%zu", i);
        AUTO(tree_freep) json_t *event = plain_event(name);
        if (rows[i].value) {
            json_object_set_new(event, rows[i].field, json_string(rows[i].value));
        } else {
            json_object_del(event, rows[i].field);
        }
        CHECK_INT(write_event(CLUSTER_CREATE, event), ERROR_INVALID);
    }
    static const char *const limited[] = {"note", "reason", "action", "reportingInstance"};
    for (size_t i = 0; i < ARRAY_LEN(limited); i++) {
        AUTO(tree_freep) json_t *event = plain_event("too-long");
        json_object_set_new(event, limited[i], json_string(long_text));
        CHECK_INT(write_event(CLUSTER_CREATE, event), ERROR_INVALID);
    }
}

/* An update may change the series alone, and that to no less than 2. 1.20 takes every update. */
static void test_what_an_update_may_change(void) {
    if (getenv("WINDLASS_TEST_SERVER")) { /* 1.20: tests/cluster/api-server.sh */
        return;
    }
    AUTO(tree_freep) json_t *event = plain_event("updated");
    CHECK_INT(write_event(CLUSTER_CREATE, event), 0);
    static const char *const fields[] = {"reason", "note", "action", "reportingInstance"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        AUTO(tree_freep)
        json_t *change = json_pack("{s:s, s:s, s:{s:s, s:s}, s:s}", "apiVersion",
                                   "events.k8s.io/v1", "kind", "Event", "metadata", "name",
                                   "updated", "namespace", "default", fields[i], "other");
        CHECK_INT(write_event(CLUSTER_MERGE, change), ERROR_INVALID);
    }
    for (int count = 1; count <= 2; count++) {
        AUTO(tree_freep)
        json_t *change =
            json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:i, s:s}}", "apiVersion", "events.k8s.io/v1",
                      "kind", "Event", "metadata", "name", "updated", "namespace", "default",
                      "series", "count", count, "lastObservedTime", "2026-11-28T10:00:00.000000Z");
        CHECK_INT(write_event(CLUSTER_APPLY, change), count < 2 ? ERROR_INVALID : 0);
    }
}

/* The longest name, note and instance that there may be are within the server's limits. */
static void test_the_longest_event_is_taken(void) {
    static const char two_bytes[] = "\xc3\xa9";
    char name[64] = "", host[300] = "";
    AUTO(text_freep) char *note = x_malloc(4001);
    memset(name, 'n', 63);
    memset(host, 'h', sizeof host - 1);
    for (size_t i = 0; i < 4000; i++) {
        note[i] = two_bytes[i % 2];
    }
    note[4000] = 0;
    const char *before = getenv("HOSTNAME");
    AUTO(text_freep) char *kept = before ? x_strdup(before) : NULL;
    setenv("HOSTNAME", host, 1);
    start_recorder();
    tell_of(name, "Longest", note, 0);
    tell_of(name, "Longest", note, 1);
    AUTO(tree_freep) json_t *one = wait_for("Longest", 1, 0);
    step(10);
    AUTO(tree_freep) json_t *series = wait_for("Longest", 1, 2);
    CHECK_STR(tree_text(series, "[0].regarding.name", ""), name);
    if (kept) {
        setenv("HOSTNAME", kept, 1);
    } else {
        unsetenv("HOSTNAME");
    }
}

int main(void) {
    struct error err = {0};
    const char *folder = getenv("WINDLASS_TEST_FOLDER");
    if (!folder) {
        printf("not ok WINDLASS_TEST_FOLDER is not set\n");
        return 1;
    }
    AUTO(text_freep) char *path = file_join(folder, "kubeconfig");
    struct kube_options options = {.config.kubeconfig = path};
    CHECK_OK(kube_open(&options, &cluster, &err), &err);
    TEST(test_what_repeats_is_a_series);
    TEST(test_other_notes_are_a_second_event);
    TEST(test_what_the_server_refuses);
    TEST(test_what_an_update_may_change);
    TEST(test_the_longest_event_is_taken);
    cluster->ops->free(cluster);
    for (size_t i = 0; i < recorder_count; i++) {
        event_recorder_free(recorders[i]);
    }
    json_decref(listed);
    return TEST_END();
}
