// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/trials.h"

#include "operator/kinds/sweep/trial.h"

#include <stdlib.h>
#include <string.h>

void trials_release(struct trials *trials) {
    for (size_t i = 0; i < trials->count; i++) {
        trial_row_release(&trials->rows[i]);
    }
    free(trials->rows);
    *trials = (struct trials){0};
}

/* The position of the row of that index, or where to insert it. */
static size_t place(const struct trials *trials, int64_t index) {
    size_t low = 0, high = trials->count;
    if (high > 0 && trials->rows[high - 1].index < index) {
        return high; /* the usual case: a new trial */
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (trials->rows[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Takes the row over. */
static void put(struct trials *trials, struct trial_row row) {
    size_t at = place(trials, row.index);
    if (at < trials->count && trials->rows[at].index == row.index) {
        trial_row_release(&trials->rows[at]);
        trials->rows[at] = row;
        return;
    }
    if (trials->count == trials->capacity) {
        trials->capacity = MAX(16, 2 * trials->capacity);
        trials->rows = x_realloc_array(trials->rows, trials->capacity, sizeof *trials->rows);
    }
    memmove(trials->rows + at + 1, trials->rows + at, (trials->count - at) * sizeof *trials->rows);
    trials->rows[at] = row;
    trials->count++;
}

static void read_changed(struct trials *trials, const json_t *owner, const struct sweep_spec *spec,
                         const json_t *changed) {
    for (size_t i = 0; i < json_array_size(changed); i++) {
        struct trial_row row;
        if (!trial_row_read(json_array_get(changed, i), &spec->space, spec->metric, &row)) {
            continue;
        }
        if (trial_is_named(tree_text(owner, "metadata.name", ""), row.index, row.name)) {
            put(trials, row);
        } else {
            trial_row_release(&row);
        }
    }
}

void trials_update(struct trials *trials, const struct cache *cache, const json_t *owner,
                   const struct sweep_spec *spec) {
    size_t count;
    AUTO(tree_freep)
    json_t *changed = cache_owned_since(cache, "DistTrain", owner, &trials->mark, &count);
    read_changed(trials, owner, spec, changed);
    if (trials->count + trials->others == count) {
        return;
    }
    trials_release(trials); /* some were deleted */
    AUTO(tree_freep)
    json_t *all = cache_owned_since(cache, "DistTrain", owner, &trials->mark, &count);
    read_changed(trials, owner, spec, all);
    trials->others = count - trials->count;
}
