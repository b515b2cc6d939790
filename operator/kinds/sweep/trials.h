/* trials.h: the rows of a Sweep's trials, kept between passes so that only changed trials are read
 * again. They are a cache: they can be rebuilt from the controller's cache at any time. */
#pragma once

#include "operator/control/cache.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial_row.h"

struct trials {
    struct trial_row *rows; /* by rising index */
    size_t count, capacity;
    size_t others; /* DistTrains with the Sweep's label that are not its trials */
    uint64_t mark; /* how much of the cache has been read: see cache_owned_since */
};

/* owner: the Sweep of these trials. spec: its space and metric are used to read them (those of
 * another Sweep for a warm start). */
void trials_update(struct trials *trials, const struct cache *cache, const json_t *owner,
                   const struct sweep_spec *spec);
void trials_release(struct trials *trials);
