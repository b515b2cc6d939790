/* broken_store.h: another, real store, some of whose calls go wrong by a seed: they are not done,
 * or done and their answer lost, or done twice (the answer is the second's), or done after they
 * were told to have failed, by the next call; and names seem to be absent for once. */
#pragma once

#include "agent/store/store.h"

struct broken_options {
    uint64_t seed;
    int percent;        /* of all calls */
    int absent_percent; /* of the reads: NOT_FOUND of what is there, as an old cache of NFS says */
    int delay_ms_max;   /* before any call */
    int64_t dies_after; /* calls; from then on none is done and all fail. 0: it lives */
};

/* Owns inner. store_free frees both; a write that is still to be done is not done then. */
struct store *broken_store(struct store *inner, const struct broken_options *options);
int64_t broken_store_faults(const struct store *store);
