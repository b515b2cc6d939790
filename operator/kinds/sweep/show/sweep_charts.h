/* sweep_charts.h: the charts of sweep.html (sweep_html.h): best so far over reports for each trial
 * and over trials, and the parameters beside each other. Inline SVG; a title at each line is what a
 * browser shows under the pointer. */
#pragma once

#include "lib/text/page.h"
#include "operator/kinds/sweep/show/sweep_html.h"

enum { SWEEP_NAME_MAX_BYTES = 40, SWEEP_SHORT_MAX = 32, SWEEP_DIGITS = 6 };

/* What charts and rows of a trial are marked with: "best", "completed" ... */
const char *sweep_class(const struct sweep_trial *trial, const struct sweep_trial *best);

/* Which trials are drawn, by i from 0: of too many the newest, and the best one at last, over all
 * others. NULL ends; a trial that is to be passed over is &facts->trials[facts->trial_count]. */
const struct sweep_trial *sweep_drawn(const struct sweep_facts *facts,
                                      const struct sweep_trial *best, size_t i);

/* A value as people read it: "0.513896" of "0.513895751025271" with 6 digits; whole numbers and
 * words are as they are. text holds it, or it is the value itself. */
const char *sweep_short(const char *value, int digits, char text[static SWEEP_SHORT_MAX]);

void sweep_charts(struct page *page, const struct sweep_facts *facts,
                  const struct sweep_trial *best);
