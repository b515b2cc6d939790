/* sweep_front.h: the Pareto front in sweep.html (sweep_html.h), of a Sweep of several objectives: a
 * chart for each further objective, with the trials that are drawn (sweep_drawn) and all those on
 * the front, and beside them the front as a table, the best of the first objective first. */
#pragma once

#include "lib/text/page.h"
#include "operator/kinds/sweep/show/sweep_html.h"

/* Nothing where no trial is on a front. */
void sweep_front(struct page *page, const struct sweep_facts *facts,
                 const struct sweep_trial *best);
