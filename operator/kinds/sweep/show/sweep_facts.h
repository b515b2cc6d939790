/* sweep_facts.h: a Sweep and its trials, as a cluster has them -> the plain facts that sweep.html
 * and the table are made of (sweep_html.h). Pure. */
#pragma once

#include "lib/tree.h"
#include "operator/kinds/sweep/show/sweep_html.h"

struct sweep_view;

/* sweep: with defaults filled in, and its last status; borrowed as long as the view is there.
 * trials: an array of DistTrains in any order; what is no trial of this Sweep (by annotation and
 * name) is passed over. INVALID: the Sweep cannot be read. */
NODISCARD int sweep_view_new(const json_t *sweep, const json_t *trials,
                             struct sweep_view **ret_view, struct error *err);
void sweep_view_free(struct sweep_view *view);
void sweep_view_freep(struct sweep_view **view); /* for AUTO */

const struct sweep_facts *sweep_view_facts(const struct sweep_view *view);
/* The trial that failed last; NULL: none did. */
const struct sweep_trial *sweep_view_failed(const struct sweep_view *view);
