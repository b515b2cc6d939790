/* report_chart.h: the charts of report.html: inline SVG that scales with the page, with labels next
 * to it as text (so they stay readable on a phone). For report_html.c. */
#pragma once

#include "agent/score/report/report_facts.h"
#include "lib/text/page.h"

/* Items done and failed over time, in percent of total. */
void chart_progress(struct page *page, const struct facts *facts, int64_t total);
/* Items per second over time, and their mean. unit: "frames" */
void chart_rate(struct page *page, const struct facts *facts, const char *unit);
/* The number of mini-batches that run at the same time. */
void chart_busy(struct page *page, const struct facts *facts);
/* A histogram of the durations of mini-batches. */
void chart_durations(struct page *page, const struct facts *facts);
/* A histogram of the workers' busy shares: ten bars. */
void chart_shares(struct page *page, const int64_t counts[static 10]);
/* One worker's busy share over the run, a few lines high. */
void chart_strip(struct page *page, const struct facts *facts, const struct facts_worker *worker,
                 int slots);
