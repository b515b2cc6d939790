/* things.h: shared by the tests with a real API server: objects of a kind that
 * tests/kube/things.json declares there, and the events about them. */
#pragma once

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kube/kube.h"
#include "tests/cluster_write.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#define THINGS_API "test.windlass.dev/v1"

struct things {
    struct cluster *cluster;
    json_t *seen;   /* name -> object */
    json_t *before; /* the objects seen before the current listing */
    int listings, listed;
    bool is_listing;
};

static inline void things_hear(void *context, enum cluster_event event, const json_t *object) {
    struct things *things = context;
    const char *name = tree_text(object, "metadata.name", "");
    switch (event) {
    case CLUSTER_LISTING:
        things->listings++;
        things->is_listing = true;
        json_object_update(things->before, things->seen);
        json_object_clear(things->seen);
        break;
    case CLUSTER_LISTED:
        things->listed++;
        things->is_listing = false;
        json_object_clear(things->before);
        break;
    case CLUSTER_ABSENT:
        break;
    case CLUSTER_APPLIED:
        CHECK_STR(tree_text(object, "kind", NULL), "Thing");
        CHECK(!tree_get(object, "metadata.managedFields"));
        json_object_set(things->seen, name, (json_t *)object);
        break;
    case CLUSTER_DELETED:
        json_object_del(things->seen, name);
        break;
    }
}

static inline void things_open(struct things *things, const char *kubeconfig, const char *label) {
    struct error err = {0};
    struct kube_options options = {.config.kubeconfig = kubeconfig, .namespace = "default"};
    *things = (struct things){.seen = json_object(), .before = json_object()};
    CHECK_OK(kube_open(&options, &things->cluster, &err), &err);
    CHECK_OK(things->cluster->ops->watch(things->cluster, THINGS_API, "Thing", label, false, &err),
             &err);
}

static inline void things_close(struct things *things) {
    things->cluster->ops->free(things->cluster);
    json_decref(things->seen);
    json_decref(things->before);
}

static inline void things_wait(struct things *things, int timeout_ms) {
    struct error err = {0};
    CHECK_OK(things->cluster->ops->wait(things->cluster, timeout_ms, things_hear, things, &err),
             &err);
}

/* Runs until `condition` holds or time is over; returns whether it holds. */
#define THINGS_UNTIL(things, limit_ms, condition)                                                  \
    __extension__({                                                                                \
        int64_t until_ms_ = clock_monotonic_ms() + (limit_ms);                                     \
        while (!(condition) && clock_monotonic_ms() < until_ms_) {                                 \
            things_wait((things), 100);                                                            \
        }                                                                                          \
        (condition);                                                                               \
    })

static inline json_t *thing_new(const char *name, int64_t value) {
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:I}}", "apiVersion", THINGS_API, "kind",
                     "Thing", "metadata", "name", name, "labels", LABEL_JOB, "job", "spec", "value",
                     (json_int_t)value);
}

static inline int things_write(struct things *things, enum cluster_verb verb, const json_t *object,
                               json_t **ret_stored, struct error *err) {
    const struct cluster_writer writer = {things->cluster, things_hear, things};
    return cluster_write(&writer, verb, object, ret_stored, err);
}

/* Waits for one write; frees the object; returns the stored one (the caller's) or NULL. */
static inline json_t *thing_write(struct things *things, enum cluster_verb verb, json_t *object_new,
                                  struct error *err) {
    json_t *stored = NULL;
    int result = things_write(things, verb, object_new, &stored, err);
    json_decref(object_new);
    return result < 0 ? NULL : stored;
}

/* The results of many writes at once. */
struct tally_of_writes {
    int done, failed[ERROR_KIND_COUNT];
    struct error last;
};

static inline void count_write(void *context, const json_t *stored, const struct error *err) {
    struct tally_of_writes *tally = context;
    (void)stored;
    tally->done++;
    if (err) {
        tally->failed[err->kind]++;
        tally->last = *err;
    }
}

static inline void write_many(struct things *things, enum cluster_verb verb, const char *prefix,
                              int count, int64_t value, struct tally_of_writes *tally) {
    *tally = (struct tally_of_writes){0};
    for (int i = 0; i < count; i++) {
        AUTO(text_freep) char *name = x_printf("%s-%d", prefix, i);
        AUTO(tree_freep) json_t *object = thing_new(name, value);
        things->cluster->ops->write(things->cluster, verb, object, count_write, tally);
    }
    CHECK(THINGS_UNTIL(things, 120000, tally->done == count));
}

/* Objects may reappear while a listing runs: repeats until nothing is left. */
static inline void remove_all(struct things *things) {
    int64_t end_ms = clock_monotonic_ms() + 60000;
    CHECK(THINGS_UNTIL(things, 20000, things->listed && !things->is_listing));
    while (json_object_size(things->seen) && clock_monotonic_ms() < end_ms) {
        struct tally_of_writes tally = {0};
        int count = 0;
        const char *name;
        json_t *object;
        json_object_foreach(things->seen, name, object) {
            things->cluster->ops->write(things->cluster, CLUSTER_DELETE, object, count_write,
                                        &tally);
            count++;
        }
        CHECK(THINGS_UNTIL(things, 60000, tally.done == count));
        (void)THINGS_UNTIL(things, 2000, !json_object_size(things->seen) && !things->is_listing);
        (void)THINGS_UNTIL(things, 20000, !things->is_listing);
    }
    CHECK_INT(json_object_size(things->seen), 0);
}
