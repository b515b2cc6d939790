/* sweep_facts.h: a Sweep and its trials, as stored in a cluster -> the plain data for sweep.html
 * and the table (sweep_html.h). Pure. */
#pragma once

#include "lib/tree.h"
#include "operator/kinds/sweep/show/sweep_html.h"

struct sweep_view;

/* sweep: with defaults filled in, and its last status; borrowed for the lifetime of the view.
 * trials: an array of DistTrains in any order; objects that are not trials of this Sweep (by
 * annotation and name) are skipped. INVALID: the Sweep cannot be read. */
NODISCARD int sweep_view_new(const json_t *sweep, const json_t *trials,
                             struct sweep_view **ret_view, struct error *err);
void sweep_view_free(struct sweep_view *view);
void sweep_view_freep(struct sweep_view **view); /* for AUTO */

const struct sweep_facts *sweep_view_facts(const struct sweep_view *view);
/* The trial that failed last; NULL: none did. */
const struct sweep_trial *sweep_view_failed(const struct sweep_view *view);
