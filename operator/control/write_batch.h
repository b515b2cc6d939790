/* write_batch.h: the writes of one pass, until the last has ended. Creations use a slow start, like
 * the Job controller's: a few at first, one more for each success, and no more after the first that
 * the cluster refuses, because it would refuse the others, too. Used by controller.c. */
#pragma once

#include "operator/cluster.h"

enum { WRITE_BATCH_WINDOW = 4 }; /* creations under way at first: as many as a small job has pods */

struct write_batch;

struct write_batch_item {
    struct write_batch *batch;
    enum cluster_verb verb;
    json_t *object;
};

struct write_batch_listener {
    void (*starts)(void *context, const struct write_batch_item *write);
    /* A write has ended; stored and err are cluster_done's. */
    void (*ended)(void *context, const struct write_batch_item *write, const json_t *stored,
                  const struct error *err);
    /* The last write has ended; the batch may be freed. */
    void (*landed)(void *context, struct write_batch *batch);
};

struct write_batch {
    char *key; /* of the resource that was reconciled */
    char *namespace;
    size_t kind;      /* index */
    json_t *events;   /* [{"of", "event"}]: to be sent after the write of `of` succeeded */
    json_t *failed;   /* names of the objects that were not written -> true; "": the status */
    struct error err; /* of the write that failed, preferably one that is worth a retry */
    int64_t again_ms;
    bool is_due;  /* something happened during the writes */
    bool changes; /* the writes may satisfy what the next step waits for, and their events are not
                     news */
    /* Of write_batch.c: */
    struct cluster *cluster;
    const struct write_batch_listener *listener;
    void *context;
    struct write_batch_item *writes; /* creations last */
    size_t write_count, started, pending;
    size_t window, creating;
    bool is_stopped; /* no further creations */
};

/* writes: [{"verb", "object"}]. The caller fills in kind, events and again_ms. */
struct write_batch *write_batch_new(const char *key, const char *namespace, const json_t *writes);
void write_batch_free(void *batch); /* takes a struct write_batch; usable with tdestroy */
/* window: creations under way at first. The batch must have at least one write. */
void write_batch_start(struct write_batch *batch, struct cluster *cluster, size_t window,
                       const struct write_batch_listener *listener, void *context);
