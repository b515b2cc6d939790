/* sweep_charts.h: the charts of sweep.html (sweep_html.h): the objective's best value so far, for
 * each trial over its reports, and for the Sweep over its trials; and the parameters as parallel
 * coordinates. Inline SVG; browsers show a line's title when the pointer is over it. */
#pragma once

#include "lib/text/page.h"
#include "operator/kinds/sweep/show/sweep_html.h"

enum { SWEEP_NAME_MAX_BYTES = 40, SWEEP_SHORT_MAX = 32, SWEEP_DIGITS = 6 };

/* The CSS class of a trial in charts and rows: "best", "completed" ... */
const char *sweep_class(const struct sweep_trial *trial, const struct sweep_trial *best);

/* The i-th trial to draw, from 0: if there are too many, the newest ones; the best one is last,
 * above all others. NULL ends. A trial to skip is &facts->trials[facts->trial_count]. */
const struct sweep_trial *sweep_drawn(const struct sweep_facts *facts,
                                      const struct sweep_trial *best, size_t i);

/* A value shortened for people: "0.513896" for "0.513895751025271" with 6 digits; whole numbers and
 * words are unchanged. The result is in text, or is the value itself. */
const char *sweep_short(const char *value, int digits, char text[static SWEEP_SHORT_MAX]);

/* The text that a browser shows over a trial's mark. */
void sweep_title(struct page *page, const struct sweep_facts *facts,
                 const struct sweep_trial *trial);

void sweep_charts(struct page *page, const struct sweep_facts *facts,
                  const struct sweep_trial *best);
/* True if `a` is a number and better than `b`, which may be NaN. */
bool sweep_is_better(const struct sweep_facts *facts, double a, double b);
