/* cluster_write.h: a write to a cluster that waits until it is done, for tests. */
#pragma once

#include "lib/time/clock.h"
#include "operator/cluster.h"

struct cluster_write_answer {
    bool ended;
    json_t *stored;
    struct error err;
};

static inline void cluster_write_done(void *context, const json_t *stored,
                                      const struct error *err) {
    struct cluster_write_answer *answer = context;
    answer->ended = true;
    answer->stored = json_incref((json_t *)stored);
    if (err) {
        answer->err = *err;
    }
}

/* A cluster, and what gets its events while a write is waited for; listener NULL: they are dropped.
 */
struct cluster_writer {
    struct cluster *cluster;
    cluster_listener *listener;
    void *context;
};

/* Writes and waits up to 10 s. The caller owns *ret_stored; ret_stored may be NULL. */
static inline int cluster_write(const struct cluster_writer *writer, enum cluster_verb verb,
                                const json_t *object, json_t **ret_stored, struct error *err) {
    struct cluster *cluster = writer->cluster;
    struct cluster_write_answer answer = {0};
    int64_t end_ms = clock_monotonic_ms() + 10000;
    cluster->ops->write(cluster, verb, object, cluster_write_done, &answer);
    while (!answer.ended) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0) {
            return error_set(err, ERROR_TIMEOUT, "the write did not end");
        }
        if (cluster->ops->wait(cluster, (int)left_ms, writer->listener, writer->context, err) < 0) {
            return -1;
        }
    }
    if (answer.err.kind) {
        *err = answer.err;
        return -1;
    }
    if (ret_stored) {
        *ret_stored = answer.stored;
    } else {
        json_decref(answer.stored);
    }
    return 0;
}
