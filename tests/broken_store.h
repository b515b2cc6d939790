/* broken_store.h: wraps a real store; some calls fail by a seed: they are not done, or done and
 * their answer lost, or done twice (the answer is the second's), or reported as failed and done
 * later, by the next call; and an existing name may once seem absent. */
#pragma once

#include "agent/store/store.h"

#include <stdatomic.h>

struct broken_options {
    uint64_t seed;
    int percent;        /* of all calls */
    int absent_percent; /* of the reads: NOT_FOUND for an object that exists (a stale NFS cache) */
    int delay_ms_max;   /* before any call */
    atomic_bool *is_held; /* every call waits until it is false; NULL: none does */
    int64_t dies_after;   /* after this many calls all fail and none is done; 0: never */
    int64_t kills_at;     /* the process ends at this call, from 1, before it is done; 0: never */
};
enum { BROKEN_STORE_KILLED = 77 }; /* its exit code then */

/* Owns inner. store_free frees both; a delayed write is dropped then. */
struct store *broken_store(struct store *inner, const struct broken_options *options);
int64_t broken_store_faults(const struct store *store);
