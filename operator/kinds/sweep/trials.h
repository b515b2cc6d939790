/* trials.h: the rows of a Sweep's trials, kept between passes so that only what changed is read
 * again (never the truth: they can be made anew of the cache at any time). */
#pragma once

#include "operator/control/cache.h"
#include "operator/kinds/sweep/rows.h"
#include "operator/kinds/sweep/spec.h"

struct trials {
    struct trial_row *rows; /* by rising index */
    size_t count, room;
    size_t others; /* of its objects, those that are no rows */
    uint64_t stamp;
};

/* owner: the Sweep whose trials these are; spec: the one by whose space and metric they are read
 * (another for a warm start). */
void trials_update(struct trials *trials, const struct cache *cache, const json_t *owner,
                   const struct sweep_spec *spec);
void trials_release(struct trials *trials);
