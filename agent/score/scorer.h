/* scorer.h: one lease, from its items to its outputs: reader -> preprocess -> network ->
 * postprocess -> writer. Small pictures of one size go through the network together. One thread at
 * a time; the network stays loaded from lease to lease. */
#pragma once

#include "agent/data/media.h"

#include <stdatomic.h>

struct scorer;

struct scorer_task {
    const struct media *media;
    const json_t *work;      /* from the lease: an object, or lines */
    struct outcome *outcome; /* gets the results' bytes; the caller closes it */
    atomic_bool *dropped;    /* set from another thread: stop soon */
};

/* Reads pre- and postprocess, loads the network and checks that they fit together. Every message
 * names the field. The spec is borrowed and must live on. */
NODISCARD int scorer_open(const json_t *spec, struct scorer **ret_scorer, struct error *err);
void scorer_free(struct scorer *scorer);
void scorer_freep(struct scorer **scorer);

/* Runs the network once on a small black picture and checks that its output fits postprocess. What
 * cannot be tried cheaply (a large fixed size, a network that wants larger pictures) passes. */
NODISCARD int scorer_try(struct scorer *scorer, struct error *err);

struct scorer_count {
    int64_t items, failed; /* failed ones among the items */
    json_t *failures;      /* [[index in the lease, cause], ...] of these; owned; NULL: none */
};

/* CANCELLED when the task was dropped. */
NODISCARD int scorer_run(struct scorer *scorer, const struct scorer_task *task,
                         struct scorer_count *ret_count, struct error *err);
