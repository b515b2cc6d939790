// SPDX-License-Identifier: Apache-2.0
#include "operator/control/write_batch.h"

#include "operator/control/claim.h"
#include "operator/object.h"

#include <assert.h>
#include <stdlib.h>

static size_t add_writes(struct write_batch *batch, const json_t *writes, bool creations) {
    size_t count = batch->write_count;
    for (size_t i = 0; i < json_array_size(writes); i++) {
        const json_t *asked = json_array_get(writes, i);
        enum cluster_verb verb = (enum cluster_verb)tree_integer(asked, "verb", 0);
        if ((verb == CLUSTER_CREATE) == creations) {
            json_t *object = json_incref(json_object_get(asked, "object"));
            batch->writes[count++] = (struct write_batch_item){batch, verb, object};
            batch->changes |= verb != CLUSTER_DELETE;
        }
    }
    return count;
}

struct write_batch *write_batch_new(const char *key, const char *namespace, const json_t *writes) {
    struct write_batch *batch = x_calloc(1, sizeof *batch);
    batch->key = x_strdup(key);
    batch->namespace = x_strdup(namespace);
    batch->failed = json_object();
    batch->writes = x_calloc(json_array_size(writes), sizeof *batch->writes);
    batch->write_count = add_writes(batch, writes, false);
    batch->write_count = add_writes(batch, writes, true);
    return batch;
}

void write_batch_free(void *opaque) {
    struct write_batch *batch = opaque;
    for (size_t i = 0; i < batch->write_count; i++) {
        json_decref(batch->writes[i].object);
    }
    for (size_t i = 0; i < batch->undone_count; i++) {
        json_decref(batch->undone[i].object);
    }
    json_decref(batch->events);
    json_decref(batch->failed);
    free(batch->undone);
    free(batch->writes);
    free(batch->namespace);
    free(batch->key);
    free(batch);
}

static void note_failed(struct write_batch *batch, const struct write_batch_item *write) {
    const char *name = tree_text(write->object, "metadata.name", "");
    json_object_set_new(batch->failed, write->verb == CLUSTER_STATUS ? "" : name, json_true());
}

/* A quota, a policy, a webhook that fails, a busy server: the next creation would end the same. */
static bool is_likely_for_all(enum error_kind kind) {
    return kind == ERROR_DENIED || kind == ERROR_INVALID || kind == ERROR_UNAVAILABLE ||
           kind == ERROR_BUSY;
}

static void on_done(void *context, const json_t *stored, const struct error *err);

static void start(struct write_batch_item *write) {
    struct write_batch *batch = write->batch;
    batch->pending++;
    batch->listener->started(batch->context, write);
    batch->cluster->ops->write(batch->cluster, write->verb, write->object, on_done, write);
}

static void advance(struct write_batch *batch) {
    while (batch->started < batch->write_count) {
        struct write_batch_item *write = &batch->writes[batch->started];
        bool creates = write->verb == CLUSTER_CREATE;
        if (creates && (batch->is_stopped || batch->creating >= batch->window)) {
            return;
        }
        batch->started++;
        batch->creating += creates;
        start(write);
    }
}

/* What was created is not what was asked for: its resource would not find it. */
static bool is_lost(const struct write_batch_item *write, const json_t *stored, struct error *err) {
    const char *kind = tree_text(write->object, "kind", "");
    bool is_sought = write->verb == CLUSTER_CREATE && json_object_get(write->batch->watched, kind);
    const char *lacks = is_sought && stored ? claim_lacks(stored, write->object) : NULL;
    if (!lacks) {
        return false;
    }
    error_set(err, ERROR_DENIED,
              "the cluster stored it without our %s, as a mutating webhook may do, so it is "
              "deleted again",
              lacks);
    return true;
}

/* By its uid: the name may be another object's by then. */
static void take_back(struct write_batch *batch, const json_t *stored) {
    if (!batch->undone) {
        batch->undone = x_calloc(batch->write_count, sizeof *batch->undone);
    }
    struct write_batch_item *undo = &batch->undone[batch->undone_count++];
    *undo = (struct write_batch_item){batch, CLUSTER_DELETE, json_incref((json_t *)stored)};
    start(undo);
}

static void on_done(void *context, const json_t *stored, const struct error *err) {
    struct write_batch_item *write = context;
    struct write_batch *batch = write->batch;
    struct error denied = {0};
    const json_t *lost = !err && is_lost(write, stored, &denied) ? stored : NULL;
    if (lost) {
        stored = NULL;
        err = &denied;
    }
    batch->pending--;
    if (write->verb == CLUSTER_CREATE) {
        batch->creating--;
        batch->window += !err;
        batch->is_stopped |= err && is_likely_for_all(err->kind);
    }
    if (err) {
        note_failed(batch, write);
    }
    batch->listener->ended(batch->context, write, stored, err);
    if (lost) {
        take_back(batch, lost);
    }
    advance(batch);
    if (batch->pending == 0) {
        for (size_t i = batch->started; i < batch->write_count; i++) {
            note_failed(batch, &batch->writes[i]);
        }
        batch->listener->finished(batch->context, batch);
    }
}

void write_batch_start(struct write_batch *batch, struct cluster *cluster, size_t window,
                       const struct write_batch_listener *listener, void *context) {
    batch->cluster = cluster;
    batch->window = window;
    batch->listener = listener;
    batch->context = context;
    advance(batch);
}

/* Whether a failed reconcile pass is retried without a change of the resource. */
static const bool retried[] = {
    [ERROR_NONE] = false,     [ERROR_INVALID] = false,     [ERROR_NOT_FOUND] = true,
    [ERROR_CONFLICT] = true,  [ERROR_GONE] = true,         [ERROR_DENIED] = true,
    [ERROR_BUSY] = true,      [ERROR_UNAVAILABLE] = true,  [ERROR_TIMEOUT] = true,
    [ERROR_EXHAUSTED] = true, [ERROR_UNSUPPORTED] = false, [ERROR_CANCELLED] = false,
    [ERROR_FAILED] = false,   [ERROR_BUG] = false,
};
static_assert(ARRAY_LEN(retried) == ERROR_KIND_COUNT, "one decision per kind of error");

bool write_batch_is_retried(enum error_kind kind) {
    return retried[kind];
}

/* Preferably an error that is worth a retry. */
static void note_error(struct write_batch *batch, const struct write_batch_item *write,
                       const struct error *err) {
    bool is_absent = write->verb == CLUSTER_STATUS && err->kind == ERROR_NOT_FOUND;
    if (is_absent && !batch->is_retry) { /* the resource was deleted: its event reports that */
        batch->is_cut = true;
        return;
    }
    if (!batch->err.kind || (!retried[batch->err.kind] && retried[err->kind])) {
        batch->err = *err;
        error_context(&batch->err, "%s %s", tree_text(write->object, "kind", ""),
                      tree_text(write->object, "metadata.name", ""));
    }
}

void write_batch_note_end(const struct write_batch_item *write, const json_t *stored,
                          const struct error *err) {
    if (err) {
        note_error(write->batch, write, err);
    }
    if (write->verb == CLUSTER_STATUS && stored &&
        !object_holds(json_object_get(stored, "status"), json_object_get(write->object, "status"),
                      /* ignores_times= */ false)) {
        write->batch->is_cut = true;
    }
}
