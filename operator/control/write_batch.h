/* write_batch.h: all writes of one reconcile pass, from the first request to the last answer.
 * Creations use a slow start, like those of Kubernetes' Job controller: only `window` of them are
 * under way at first, and each success allows one more. When one fails for a cause that is likely
 * for all (DENIED or INVALID: a quota, a policy; UNAVAILABLE or BUSY: a webhook or the server), no
 * further ones are sent.
 *
 * A webhook may remove the labels or the owner by which the controller finds an object
 * (claim_lacks). No one would see such an object, or delete it, so its creation has failed, as
 * DENIED, and the batch deletes it. Used by controller.c. */
#pragma once

#include "operator/cluster.h"

enum { WRITE_BATCH_WINDOW = 4 }; /* the usual window: as many pods as a small job has */

struct write_batch;

struct write_batch_item {
    struct write_batch *batch;
    enum cluster_verb verb;
    json_t *object;
};

struct write_batch_listener {
    /* A write is about to be sent. */
    void (*started)(void *context, const struct write_batch_item *write);
    /* A write has ended; stored and err are cluster_done's. */
    void (*ended)(void *context, const struct write_batch_item *write, const json_t *stored,
                  const struct error *err);
    /* The last write has ended; the batch may be freed. */
    void (*finished)(void *context, struct write_batch *batch);
};

struct write_batch {
    char *key; /* of the resource that was reconciled */
    char *namespace;
    size_t kind;           /* index in the controller's table */
    const json_t *watched; /* {KIND: true} of objects that must be found again; NULL: none */
    json_t *events;   /* [{"of", "event"}] (event_recorder_add), sent when the batch has finished */
    json_t *failed;   /* names of the objects whose write failed or was skipped -> true; "": the
                         status */
    struct error err; /* of the write that failed, preferably one that is worth a retry */
    int64_t again_ms; /* of the pass (reconcile.h) */
    int64_t took_ms;  /* by the pass, without its writes */
    bool is_retry;    /* it has a write that failed before (retry_pace.h) */
    bool is_cut;      /* a status was stored only in part, or its resource was not found */
    bool is_due;      /* an event arrived for the resource while its writes were under way */
    /* It creates or changes objects. Their events will be ignored as known, so the controller runs
     * the next pass by itself. */
    bool changes;
    /* For write_batch.c: */
    struct cluster *cluster;
    const struct write_batch_listener *listener;
    void *context;
    struct write_batch_item *writes; /* creations last */
    size_t write_count, started, pending;
    struct write_batch_item *undone; /* deletions of what was stored so that no one finds it */
    size_t undone_count;
    size_t window, creating;
    bool is_stopped; /* no further creations */
};

/* writes: [{"verb", "object"}] (reconcile_write), at least one; objects get a reference. The caller
 * fills in kind, watched, events (an own reference), again_ms, took_ms and is_retry. */
struct write_batch *write_batch_new(const char *key, const char *namespace, const json_t *writes);
void write_batch_free(void *batch); /* takes a struct write_batch; usable with tdestroy */
/* Sends the writes. The listener's functions are called from here and from the cluster's wait. */
void write_batch_start(struct write_batch *batch, struct cluster *cluster, size_t window,
                       const struct write_batch_listener *listener, void *context);
/* Whether what failed so is tried again without a change of the resource. */
bool write_batch_is_retried(enum error_kind kind);
/* For the listener: records in the batch how a write ended (err, is_cut). */
void write_batch_note_end(const struct write_batch_item *write, const json_t *stored,
                          const struct error *err);
