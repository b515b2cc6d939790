// SPDX-License-Identifier: Apache-2.0
/* Tests that every implementation of operator/cluster.h must pass. A backend is a row of
 * `backends`: how to open a cluster that has none of our objects yet. */
#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kube/kube.h"
#include "operator/local/local.h"
#include "tests/cluster_write.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct backend {
    const char *name;
    bool (*is_here)(void);
    int (*open)(const char *folder, struct cluster **ret_cluster, struct error *err);
};

static int open_local(const char *folder, struct cluster **ret_cluster, struct error *err) {
    AUTO(text_freep) char *agent = file_join(folder, "windlass-agent");
    if (file_write(agent, "#!/bin/sh\n", 10, err) < 0 || chmod(agent, 0755) < 0) {
        return -1;
    }
    struct local_options options = {.places = {.manifest_folder = folder, .state_folder = folder},
                                    .threads = 1,
                                    .program_folder = folder};
    return local_open(&options, ret_cluster, err);
}

/* A server with a controller-manager: tests/e2e/cluster/test_kube_client.sh starts one. */
static const char *kubeconfig(void) {
    return getenv("WINDLASS_TEST_KUBECONFIG");
}

static bool kube_is_here(void) {
    return kubeconfig() != NULL;
}

static bool local_is_here(void) {
    return !kube_is_here();
}

static int open_kube(const char *folder, struct cluster **ret_cluster, struct error *err) {
    static const char *const left_over[][2] = {
        {"ConfigMap", "one"},   {"ConfigMap", "quiet"}, {"ConfigMap", "again"},
        {"ConfigMap", "owner"}, {"ConfigMap", "child"}, {"ConfigMap", "stranger"},
        {"ConfigMap", "ours"},  {"Pod", "one"},         {"Service", "one"},
        {"Event", "one.17a"},
    };
    (void)folder;
    struct kube_options options = {.config.kubeconfig = kubeconfig()};
    if (kube_open(&options, ret_cluster, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(left_over); i++) {
        AUTO(tree_freep)
        json_t *object = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind",
                                   left_over[i][0], "metadata", "name", left_over[i][1]);
        const struct cluster_writer writer = {.cluster = *ret_cluster};
        if (cluster_write(&writer, CLUSTER_DELETE, object, NULL, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static const struct backend backends[] = {{"local", local_is_here, open_local},
                                          {"kube", kube_is_here, open_kube}};

/* The events received: "applied Kind name", "listed Kind ", ... in order, and the last state of
 * each. */
static struct ears {
    const struct backend *backend;
    char folder[64];
    struct cluster *cluster;
    const char *kind; /* the watched kind */
    bool is_listed;
    json_t *heard, *last;
} ears;

static void hear(void *context, enum cluster_event event, const json_t *object) {
    static const char *const names[] = {"applied", "deleted", "listing", "listed"};
    struct ears *listener = context;
    const char *kind = tree_text(object, "kind", "");
    const char *name = tree_text(object, "metadata.name", "");
    json_array_append_new(listener->heard, json_sprintf("%s %s %s", names[event], kind, name));
    AUTO(text_freep) char *key = x_printf("%s %s", kind, name);
    if (event == CLUSTER_DELETED) {
        json_object_del(listener->last, key);
    } else if (event == CLUSTER_APPLIED) {
        json_object_set(listener->last, key, (json_t *)object);
    }
}

static int count_heard(const char *wanted) {
    int count = 0;
    size_t i;
    json_t *text;
    json_array_foreach(ears.heard, i, text) {
        count += strcmp(json_string_value(text), wanted) == 0;
    }
    return count;
}

static bool wait_for(const char *wanted) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (!count_heard(wanted)) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0 ||
            ears.cluster->ops->wait(ears.cluster, (int)left_ms, hear, &ears, &err) < 0) {
            printf("# never heard '%s'\n", wanted);
            return false;
        }
    }
    return true;
}

/* Lets everything under way arrive: the listing, then all events until none comes any more. */
static void drain(void) {
    struct error err = {0};
    AUTO(text_freep) char *listed = x_printf("listed %s ", ears.kind);
    if (!ears.is_listed) {
        ears.is_listed = wait_for(listed);
    }
    size_t heard;
    do {
        heard = json_array_size(ears.heard);
        int64_t end_ms = clock_monotonic_ms() + 150, now_ms;
        while ((now_ms = clock_monotonic_ms()) < end_ms) {
            CHECK_OK(
                ears.cluster->ops->wait(ears.cluster, (int)(end_ms - now_ms), hear, &ears, &err),
                &err);
        }
    } while (json_array_size(ears.heard) != heard);
}

static void forget(void) {
    ears.is_listed = true;
    json_array_clear(ears.heard);
}

static void open_ears(const char *kind, const char *label) {
    struct error err = {0};
    snprintf(ears.folder, sizeof ears.folder, "/tmp/windlass-cluster-XXXXXX");
    CHECK(mkdtemp(ears.folder));
    ears.heard = json_array();
    ears.last = json_object();
    ears.kind = kind;
    ears.is_listed = false;
    CHECK_OK(ears.backend->open(ears.folder, &ears.cluster, &err), &err);
    CHECK_OK(ears.cluster->ops->watch(ears.cluster, "v1", kind, label, false, &err), &err);
}

static void close_ears(void) {
    struct error err = {0};
    ears.cluster->ops->free(ears.cluster);
    json_decref(ears.heard);
    json_decref(ears.last);
    CHECK_OK(file_remove_tree(ears.folder, &err), &err);
}

static json_t *map(const char *name, const char *key, const char *value) {
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:s}}", "apiVersion", "v1", "kind",
                     "ConfigMap", "metadata", "name", name, "labels", LABEL_JOB, "job", "data", key,
                     value);
}

/* Waits until it is done. */
static int write_object(enum cluster_verb verb, const json_t *object, json_t **ret_stored,
                        struct error *err) {
    const struct cluster_writer writer = {ears.cluster, hear, &ears};
    return cluster_write(&writer, verb, object, ret_stored, err);
}

static void delete_object(const json_t *object) {
    struct error err = {0};
    CHECK_OK(write_object(CLUSTER_DELETE, object, NULL, &err), &err);
}

/* Writes, frees the object, returns the stored object (the caller's) or NULL. */
static json_t *write_new(enum cluster_verb verb, json_t *object_new, struct error *err) {
    json_t *stored = NULL;
    int result = write_object(verb, object_new, &stored, err);
    json_decref(object_new);
    return result < 0 ? NULL : stored;
}

static json_t *apply(json_t *object_new, struct error *err) {
    return write_new(CLUSTER_APPLY, object_new, err);
}

/* Writes a status to the object of that name; frees status. */
static int set_status(const json_t *object, json_t *status_new, struct error *err) {
    AUTO(tree_freep) json_t *changed = json_copy((json_t *)object);
    json_object_set_new(changed, "status", status_new);
    return write_object(CLUSTER_STATUS, changed, NULL, err);
}

static void a_listing_comes_first(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *stored = apply(map("one", "a", "1"), &err);
    CHECK(wait_for("applied ConfigMap one"));
    CHECK(wait_for("listed ConfigMap "));
    CHECK_STR(json_string_value(json_array_get(ears.heard, 0)), "listing ConfigMap ");
    /* A second watch reports the objects that exist already. */
    drain();
    forget();
    CHECK_OK(ears.cluster->ops->watch(ears.cluster, "v1", "ConfigMap", NULL, false, &err), &err);
    CHECK(wait_for("listed ConfigMap "));
    CHECK_INT(count_heard("applied ConfigMap one"), 1);
    close_ears();
}

static void apply_fills_in_and_keeps_what_others_set(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *first = apply(map("one", "a", "1"), &err);
    CHECK(first);
    CHECK(strlen(tree_text(first, "metadata.uid", "")) >= 32);
    CHECK_STR(tree_text(first, "metadata.namespace", NULL), "default");
    CHECK(clock_parse(tree_text(first, "metadata.creationTimestamp", "")) > 0);
    const char *version = tree_text(first, "metadata.resourceVersion", "");
    AUTO(tree_freep) json_t *second = apply(map("one", "b", "2"), &err);
    CHECK_STR(tree_text(second, "data.b", NULL), "2");
    CHECK_STR(tree_text(second, "metadata.uid", NULL), tree_text(first, "metadata.uid", ""));
    CHECK(strcmp(tree_text(second, "metadata.resourceVersion", ""), version) != 0);
    CHECK(wait_for("applied ConfigMap one"));
    drain();
    /* Writing the same again changes nothing and causes no event. */
    forget();
    AUTO(tree_freep) json_t *third = apply(map("one", "b", "2"), &err);
    CHECK_STR(tree_text(third, "metadata.resourceVersion", NULL),
              tree_text(second, "metadata.resourceVersion", ""));
    drain();
    CHECK_INT(json_array_size(ears.heard), 0);
    close_ears();
}

static void create_never_touches_what_exists(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *first = write_new(CLUSTER_CREATE, map("one", "a", "1"), &err);
    CHECK(strlen(tree_text(first, "metadata.uid", "")) >= 32);
    CHECK(!write_new(CLUSTER_CREATE, map("one", "a", "2"), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    CHECK(wait_for("applied ConfigMap one"));
    drain();
    CHECK_STR(tree_text(json_object_get(ears.last, "ConfigMap one"), "data.a", NULL), "1");
    close_ears();
}

/* No one watches these kinds through us; it is enough that they can be written. */
static void events_can_be_written(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *about = apply(map("one", "a", "1"), &err);
    json_t *event = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", "one.17a",
        "namespace", "default", "eventTime", "2026-11-21T04:00:00.000000Z", "type", "Normal",
        "reason", "Tested", "action", "Test", "note", "seen", "reportingController",
        "windlass.dev/controller", "reportingInstance", "test", "regarding", "apiVersion", "v1",
        "kind", "ConfigMap", "namespace", "default", "name", "one", "uid",
        tree_text(about, "metadata.uid", ""));
    AUTO(tree_freep) json_t *stored = write_new(CLUSTER_CREATE, event, &err);
    CHECK_OK(stored ? 0 : -1, &err);
    close_ears();
}

/* An object of an unwatched kind can be looked up. */
static void a_list_is_asked_for_once(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Event", "metadata",
                             "namespace", "default");
    struct cluster_write_answer answer = {0};
    ears.cluster->ops->list(ears.cluster, like, "involvedObject.uid=none,type=Warning",
                            cluster_write_done, &answer);
    CHECK(!answer.ended); /* callbacks come only from wait */
    for (int i = 0; i < 600 && !answer.ended; i++) {
        CHECK_OK(ears.cluster->ops->wait(ears.cluster, 100, hear, &ears, &err), &err);
    }
    CHECK_OK(answer.err.kind ? -1 : 0, &answer.err);
    CHECK(json_is_array(json_object_get(answer.stored, "items")));
    CHECK_INT(json_array_size(json_object_get(answer.stored, "items")), 0);
    json_decref(answer.stored);
    close_ears();
}

/* A callback that writes again gets that write's result, too; the callback may be NULL. */
static void write_again(void *context, const json_t *stored, const struct error *err) {
    int *rounds = context;
    CHECK(stored && !err);
    if (++*rounds < 3) {
        AUTO(tree_freep) json_t *object = map("again", "round", *rounds == 1 ? "1" : "2");
        ears.cluster->ops->write(ears.cluster, CLUSTER_APPLY, object, write_again, rounds);
    }
}

static void writes_may_follow_writes(void) {
    struct error err = {0};
    int rounds = 0;
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *quiet = map("quiet", "a", "1");
    AUTO(tree_freep) json_t *loud = map("again", "round", "0");
    ears.cluster->ops->write(ears.cluster, CLUSTER_APPLY, quiet, NULL, NULL);
    ears.cluster->ops->write(ears.cluster, CLUSTER_APPLY, loud, write_again, &rounds);
    CHECK_INT(rounds, 0); /* callbacks come only from wait */
    CHECK(wait_for("applied ConfigMap quiet"));
    for (int i = 0; i < 600 && rounds < 3; i++) {
        CHECK_OK(ears.cluster->ops->wait(ears.cluster, 100, hear, &ears, &err), &err);
    }
    CHECK_INT(rounds, 3);
    drain();
    CHECK_INT(rounds, 3);
    CHECK_STR(tree_text(json_object_get(ears.last, "ConfigMap again"), "data.round", NULL), "2");
    close_ears();
}

static void what_is_no_object_is_refused(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    CHECK(!apply(json_pack("{s:s, s:s, s:{}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata"),
                 &err));
    CHECK_INT(err.kind, ERROR_INVALID);
    close_ears();
}

static void a_uid_guards_an_object(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *old = apply(map("one", "a", "1"), &err);
    /* Otherwise the listing may come after the deletion. */
    CHECK(wait_for("applied ConfigMap one"));
    delete_object(old);
    CHECK(wait_for("deleted ConfigMap one"));
    AUTO(tree_freep) json_t *new = apply(map("one", "a", "1"), &err);
    CHECK(strcmp(tree_text(new, "metadata.uid", ""), tree_text(old, "metadata.uid", "")) != 0);
    delete_object(old); /* the old object is gone already */
    CHECK(!apply(json_incref(old), &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    drain();
    CHECK(json_object_get(ears.last, "ConfigMap one"));
    close_ears();
}

/* metadata: of the change; frees it. */
static json_t *merge(json_t *metadata_new, struct error *err) {
    json_object_set_new(metadata_new, "name", json_string("one"));
    return write_new(CLUSTER_MERGE,
                     json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "ConfigMap",
                               "metadata", metadata_new),
                     err);
}

/* A merge changes what is given, removes what is null, replaces lists, and only this version. */
static void a_merge_changes_one_version(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *old = apply(map("one", "a", "1"), &err);
    const char *uid = tree_text(old, "metadata.uid", ""),
               *version = tree_text(old, "metadata.resourceVersion", "");
    AUTO(tree_freep)
    json_t *marked = merge(json_pack("{s:s, s:s, s:{s:s}}", "uid", uid, "resourceVersion", version,
                                     "annotations", "b", "2"),
                           &err);
    CHECK_STR(tree_text(marked, "metadata.annotations.b", ""), "2");
    CHECK_STR(tree_text(marked, "data.a", ""), "1");
    CHECK(!merge(json_pack("{s:s, s:s, s:{s:s}}", "uid", uid, "resourceVersion", version,
                           "annotations", "b", "3"),
                 &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    CHECK(!merge(json_pack("{s:s, s:{s:s}}", "uid", "00000000-0000-0000-0000-000000000000",
                           "annotations", "b", "3"),
                 &err));
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    AUTO(tree_freep)
    json_t *bare = merge(json_pack("{s:s, s:{s:n}}", "uid", uid, "annotations", "b"), &err);
    CHECK(bare && !tree_get(bare, "metadata.annotations.b"));
    delete_object(old);
    CHECK(!merge(json_pack("{s:s}", "uid", uid), &err));
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    close_ears();
}

/* An object is found by its name, watched or not. */
static void one_is_found_by_its_name(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *one = apply(map("one", "a", "1"), &err);
    static const char *const fields[] = {"metadata.name=one", "metadata.name=none"};
    for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
        struct cluster_write_answer answer = {0};
        AUTO(tree_freep) json_t *like = map(k ? "none" : "one", "a", "1");
        ears.cluster->ops->list(ears.cluster, like, fields[k], cluster_write_done, &answer);
        for (int i = 0; i < 600 && !answer.ended; i++) {
            CHECK_OK(ears.cluster->ops->wait(ears.cluster, 100, hear, &ears, &err), &err);
        }
        CHECK_INT(json_array_size(json_object_get(answer.stored, "items")), k ? 0 : 1);
        CHECK(k || json_equal(tree_get(answer.stored, "items[0].metadata.uid"),
                              tree_get(one, "metadata.uid")));
        json_decref(answer.stored);
    }
    close_ears();
}

static void what_is_owned_goes_with_its_owner(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    AUTO(tree_freep) json_t *owner = apply(map("owner", "a", "1"), &err);
    json_t *child = map("child", "a", "1");
    json_object_set_new(json_object_get(child, "metadata"), "ownerReferences",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind", "ConfigMap",
                                  "name", "owner", "uid", tree_text(owner, "metadata.uid", "")));
    AUTO(tree_freep) json_t *stored = apply(child, &err);
    CHECK(stored);
    CHECK(wait_for("applied ConfigMap child"));
    delete_object(owner);
    CHECK(wait_for("deleted ConfigMap owner"));
    CHECK(wait_for("deleted ConfigMap child"));
    delete_object(owner); /* a second delete does not fail */
    close_ears();
}

/* Whether that manager has the spec, or a part of it. */
static bool has_spec(const json_t *object, const char *operation) {
    const json_t *list = tree_get(object, "metadata.managedFields");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (strcmp(tree_text(one, "operation", ""), operation) == 0 &&
            json_object_get(json_object_get(one, "fieldsV1"), "f:spec")) {
            return true;
        }
    }
    return false;
}

/* A write of the status takes no field from the manager of the spec. Frees status. */
static void check_others(const json_t *object, json_t *status_new) {
    struct error err = {0};
    AUTO(tree_freep) json_t *changed = json_copy((json_t *)object);
    AUTO(tree_freep) json_t *stored = NULL;
    json_object_set_new(changed, "status", status_new);
    CHECK_OK(write_object(CLUSTER_STATUS, changed, &stored, &err), &err);
    if (has_spec(object, "Apply")) {
        CHECK(has_spec(stored, "Apply"));
    }
}

static void status_is_its_own_part(void) {
    struct error err = {0};
    open_ears("Pod", NULL);
    json_t *pod =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:[{s:s, s:s, s:[s]}]}, s:{s:s}}", "apiVersion",
                  "v1", "kind", "Pod", "metadata", "name", "one", "spec", "restartPolicy", "Never",
                  "containers", "name", "main", "image", "example.invalid/none", "command",
                  "/no/such/program", "status", "phase", "Succeeded");
    AUTO(tree_freep) json_t *stored = apply(pod, &err);
    CHECK_STR(tree_text(stored, "status.phase", NULL), "Pending"); /* apply sets no status */
    AUTO(tree_freep) json_t *guarded = json_deep_copy(stored);
    json_object_del(json_object_get(guarded, "metadata"), "resourceVersion");
    check_others(guarded, json_pack("{s:s}", "message", "by uid"));
    CHECK(set_status(stored, json_pack("{s:s}", "message", "late"), &err) < 0);
    CHECK_INT(err.kind, ERROR_CONFLICT); /* stored is older than the status above */
    error_clear(&err);
    json_object_set_new(json_object_get(guarded, "metadata"), "uid",
                        json_string("00000000-0000-0000-0000-000000000000"));
    CHECK(set_status(guarded, json_pack("{s:s}", "message", "another"), &err) < 0);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    AUTO(tree_freep)
    json_t *none = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata",
                             "name", "none");
    CHECK(set_status(none, json_pack("{s:s}", "message", "x"), &err) < 0);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    CHECK(wait_for("applied Pod one"));
    close_ears();
}

static void a_label_narrows_a_watch(void) {
    struct error err = {0};
    open_ears("ConfigMap", LABEL_JOB);
    json_t *stranger = map("stranger", "a", "1");
    json_object_del(json_object_get(stranger, "metadata"), "labels");
    AUTO(tree_freep) json_t *first = apply(stranger, &err);
    AUTO(tree_freep) json_t *second = apply(map("ours", "a", "1"), &err);
    CHECK(wait_for("applied ConfigMap ours"));
    CHECK_INT(count_heard("applied ConfigMap stranger"), 0);
    close_ears();
}

static void a_service_has_one_address(void) {
    struct error err = {0};
    open_ears("Service", NULL);
    json_t *service = json_pack("{s:s, s:s, s:{s:s}, s:{s:[{s:s, s:i, s:i}]}}", "apiVersion", "v1",
                                "kind", "Service", "metadata", "name", "one", "spec", "ports",
                                "protocol", "TCP", "port", 8443, "targetPort", 8443);
    AUTO(tree_freep) json_t *first = apply(json_incref(service), &err);
    CHECK(strlen(tree_text(first, "spec.clusterIP", "")) >= 7);
    CHECK(tree_integer(first, "spec.ports[0].port", 0) > 0);
    AUTO(tree_freep) json_t *second = apply(service, &err);
    CHECK_STR(tree_text(second, "spec.clusterIP", NULL), tree_text(first, "spec.clusterIP", ""));
    CHECK_INT(tree_integer(second, "spec.ports[0].port", 0),
              tree_integer(first, "spec.ports[0].port", 1));
    close_ears();
}

static void wait_ends_by_itself(void) {
    struct error err = {0};
    open_ears("ConfigMap", NULL);
    drain();
    int64_t start_ms = clock_monotonic_ms();
    CHECK_OK(ears.cluster->ops->wait(ears.cluster, 120, hear, &ears, &err), &err);
    int64_t took_ms = clock_monotonic_ms() - start_ms;
    CHECK(took_ms >= 100 && took_ms < 30000);
    close_ears();
}

static bool is_readable(int timeout_ms) {
    struct pollfd fd = {.fd = ears.cluster->ops->wait_fd(ears.cluster), .events = POLLIN};
    return poll(&fd, 1, timeout_ms) == 1;
}

/* What a slow server sends late is taken meanwhile; a busy loop never becomes quiet. */
static bool becomes_quiet(void) {
    int64_t until_ms = clock_monotonic_ms() + 60000;
    while (is_readable(100)) {
        if (clock_monotonic_ms() >= until_ms) {
            return false;
        }
        drain();
    }
    return true;
}

/* A loop over poll relies on this: no busy loop when nothing happens, no sleep otherwise. */
static void the_descriptor_says_when_to_wait(void) {
    open_ears("ConfigMap", NULL);
    CHECK(wait_for("listed ConfigMap "));
    drain();
    CHECK(becomes_quiet());
    AUTO(tree_freep) json_t *object = map("one", "a", "1");
    ears.cluster->ops->write(ears.cluster, CLUSTER_APPLY, object, NULL, NULL);
    CHECK(is_readable(60000));
    CHECK(wait_for("applied ConfigMap one"));
    drain();
    CHECK(becomes_quiet());
    close_ears();
}

int main(void) {
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        ears.backend = &backends[i];
        if (!backends[i].is_here()) {
            continue;
        }
        printf("# %s\n", backends[i].name);
        TEST(a_listing_comes_first);
        TEST(apply_fills_in_and_keeps_what_others_set);
        TEST(create_never_touches_what_exists);
        TEST(events_can_be_written);
        TEST(a_list_is_asked_for_once);
        TEST(writes_may_follow_writes);
        TEST(what_is_no_object_is_refused);
        TEST(a_uid_guards_an_object);
        TEST(a_merge_changes_one_version);
        TEST(one_is_found_by_its_name);
        TEST(what_is_owned_goes_with_its_owner);
        TEST(status_is_its_own_part);
        TEST(a_label_narrows_a_watch);
        TEST(a_service_has_one_address);
        TEST(wait_ends_by_itself);
        TEST(the_descriptor_says_when_to_wait);
    }
    return TEST_END();
}
