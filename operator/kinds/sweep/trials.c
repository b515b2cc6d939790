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

static bool has_row(const struct trials *trials, const char *name) {
    size_t i = 0;
    while (i < trials->count && strcmp(trials->rows[i].name, name) != 0) {
        i++;
    }
    return i < trials->count;
}

/* False: the row of one is there that is a trial no more, since somebody changed its annotation. */
static bool read_changed(struct trials *trials, const json_t *owner, const struct sweep_spec *spec,
                         const json_t *changed) {
    bool is_whole = true;
    for (size_t i = 0; i < json_array_size(changed); i++) {
        const json_t *one = json_array_get(changed, i);
        struct trial_row row = {0};
        if (trial_row_read(one, &spec->space, spec->metric, &row) &&
            trial_is_named(tree_text(owner, "metadata.name", ""), row.index, row.name)) {
            put(trials, row);
        } else {
            is_whole &= !has_row(trials, tree_text(one, "metadata.name", ""));
            trial_row_release(&row);
        }
    }
    return is_whole;
}

void trials_update(struct trials *trials, const struct cache *cache, const json_t *owner,
                   const struct sweep_spec *spec) {
    size_t count;
    AUTO(tree_freep)
    json_t *changed = cache_owned_since(cache, "DistTrain", owner, &trials->mark, &count);
    bool is_whole = read_changed(trials, owner, spec, changed);
    if (is_whole && trials->count + trials->others == count) {
        return;
    }
    trials_release(trials); /* some were deleted */
    AUTO(tree_freep)
    json_t *all = cache_owned_since(cache, "DistTrain", owner, &trials->mark, &count);
    read_changed(trials, owner, spec, all);
    trials->others = count - trials->count;
}
