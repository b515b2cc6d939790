// SPDX-License-Identifier: Apache-2.0
#include "agent/score/report/report_chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the chart's units, not pixels, since the chart is scaled. */
enum {
    WIDE = 1000,
    HIGH = 100,
    TIPS = 60,
    STEPS_MAX = 80,
    TICKS_MAX = 4,
    BARS_MAX = 40,
    STRIP_HIGH = 20
};

/* ---- frames --------------------------------------------------------------------------------- */

/* The next larger round number whose half is round, too; half of a count is a whole number. A
 * measure may exceed it by 1 %: two workers are sometimes measured as 2.01. */
static double tidy(double most, bool is_count) {
    static const double steps[] = {1, 1.5, 2, 3, 4, 5, 6, 8, 10, 20};
    double scale = most > 0 ? pow(10, floor(log10(most))) : 1;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        double half = steps[i] * scale / 2;
        bool is_whole = fabs(half - round(half)) < 1e-9;
        if (2 * half >= most * (is_count ? 1 : 0.99) && (is_whole || !is_count)) {
            return 2 * half;
        }
    }
    return most;
}

static void open_plot(struct page *page, const char *label) {
    page_add(page,
             "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"%s\"><path class=\"grid\" d=\"M0 0H%dM0 %dH%dM0 %dH%d\"/>",
             WIDE, HIGH, label, WIDE, HIGH / 2, WIDE, HIGH, WIDE);
}

static void add_label(struct page *page, double value) {
    if (value == floor(value)) {
        page_count(page, (int64_t)value);
    } else {
        page_add(page, "%.3g", value);
    }
}

/* Three labels next to the plot: the maximum, half of it, 0. */
static void scale(struct page *page, double most) {
    page_add(page, "<div class=\"plot\"><div class=\"y\"><span>");
    add_label(page, most);
    page_add(page, "</span><span>");
    add_label(page, most / 2);
    page_add(page, "</span><span>0</span></div>");
}

static void tick_text(int64_t ms, char text[static 32]) {
    if (ms == 0) {
        snprintf(text, 32, "0");
    } else if (ms % 3600000 == 0) {
        snprintf(text, 32, "%lld h", (long long)ms / 3600000);
    } else if (ms > 3600000) {
        snprintf(text, 32, "%lld:%02d h", (long long)ms / 3600000, (int)(ms / 60000 % 60));
    } else if (ms % 60000 == 0) {
        snprintf(text, 32, "%lld min", (long long)ms / 60000);
    } else if (ms > 60000) {
        snprintf(text, 32, "%lld:%02d min", (long long)ms / 60000, (int)(ms / 1000 % 60));
    } else if (ms % 1000 == 0) {
        snprintf(text, 32, "%lld s", (long long)ms / 1000);
    } else {
        snprintf(text, 32, "%lld ms", (long long)ms);
    }
}

static int64_t tick_step(int64_t end_ms) {
    static const int64_t steps[] = {
        1,      2,      5,       10,      20,      50,       100,      200,      500,
        1000,   2000,   5000,    10000,   15000,   30000,    60000,    120000,   300000,
        600000, 900000, 1800000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000};
    size_t i = 0;
    while (i < ARRAY_LEN(steps) - 1 && end_ms / steps[i] > TICKS_MAX) {
        i++;
    }
    int64_t step = steps[i];
    while (end_ms / step > TICKS_MAX) {
        step *= 2;
    }
    return step;
}

static void time_axis(struct page *page, int64_t end_ms) {
    int64_t step = tick_step(end_ms);
    page_add(page, "<div class=\"x\">");
    for (int64_t at = 0; at <= end_ms; at += step) {
        char text[32];
        tick_text(at, text);
        double place = 100 * (double)at / (double)end_ms;
        page_add(page, "<span%s style=\"left:%.2f%%\">%s</span>",
                 at == 0      ? " class=\"first\""
                 : place > 94 ? " class=\"last\""
                              : "",
                 place, text);
    }
    page_add(page, "</div></div>");
}

/* ---- series over time ----------------------------------------------------------------------- */

/* The run's time in columns of `each` buckets; only used ones, and at most a fixed number. */
struct columns {
    int count, each;
    double width_ms, end_ms;
};

static struct columns columns_of(const struct facts *facts, int most) {
    int64_t end_ms = MAX(facts->end_ms, 1);
    int64_t used = MIN((end_ms + facts->width_ms - 1) / facts->width_ms, FACTS_BUCKETS);
    int each = (int)(used + most - 1) / most;
    return (struct columns){.count = (int)(used + each - 1) / each,
                            .each = each,
                            .width_ms = (double)(facts->width_ms * each),
                            .end_ms = (double)end_ms};
}

/* A value at the very end of the last column is in the next bucket, but belongs to the column. */
static int column_of(const struct columns *columns, int bucket) {
    return MIN(bucket / columns->each, columns->count - 1);
}

static double x_of(const struct columns *columns, int column) {
    return MIN(WIDE, WIDE * column * columns->width_ms / columns->end_ms);
}

/* Milliseconds of a column; the last may have fewer. */
static double ms_of(const struct columns *columns, int column) {
    return MAX(1, MIN(columns->width_ms, columns->end_ms - column * columns->width_ms));
}

/* Steps from left to right, filled down to zero. */
static void area(struct page *page, const char *class, const struct columns *columns,
                 const double *values, double most) {
    page_add(page, "<path class=\"%s\" d=\"M0 %d", class, HIGH);
    for (int i = 0; i < columns->count; i++) {
        double y = HIGH - HIGH * MIN(values[i] / most, 1);
        page_add(page, "V%.2fH%.2f", y, x_of(columns, i + 1));
    }
    page_add(page, "V%dz\"/>", HIGH);
}

/* A line through the ends of the columns; values[i]: at the end of column i. */
static void slope(struct page *page, const char *class, const struct columns *columns,
                  const double *values, double most) {
    page_add(page, "<path class=\"%s\" d=\"M0 %d", class, HIGH);
    for (int i = 0; i < columns->count; i++) {
        page_add(page, "L%.2f %.2f", x_of(columns, i + 1), HIGH - HIGH * MIN(values[i] / most, 1));
    }
    page_add(page, "V%dz\"/>", HIGH);
}

static void takeovers(struct page *page, const struct facts *facts) {
    for (int64_t i = 1; i < MIN(facts->epoch_count, FACTS_EPOCHS); i++) {
        page_add(page,
                 "<path class=\"epoch\" d=\"M%.2f 0V%d\"><title>a new coordinator continued from "
                 "here</title></path>",
                 WIDE * (double)facts->epoch_at_ms[i] / (double)MAX(facts->end_ms, 1), HIGH);
    }
}

/* Tooltips of the chart: in up to TIPS places, the value at the place's end. */
struct tip {
    const char *label, *after; /* label: of the whole chart */
    const double *values;
    bool is_mean; /* the mean of a place's columns, weighted by their time; otherwise the last one's
                     value */
};

static void tips(struct page *page, const struct columns *columns, const struct tip *tip) {
    int each = (columns->count + TIPS - 1) / TIPS;
    for (int from = 0; from < columns->count; from += each) {
        int to = MIN(from + each, columns->count);
        double sum = 0, ms = 0;
        for (int i = from; i < to; i++) {
            sum += tip->values[i] * ms_of(columns, i);
            ms += ms_of(columns, i);
        }
        page_add(page, "<rect class=\"tip\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"><title>",
                 x_of(columns, from), x_of(columns, to) - x_of(columns, from), HIGH);
        page_time(page, (int64_t)MIN(to * columns->width_ms, columns->end_ms));
        page_add(page, ": ");
        page_rate(page, tip->is_mean ? sum / ms : tip->values[to - 1]);
        page_add(page, "%s</title></rect>", tip->after);
    }
}

void chart_progress(struct page *page, const struct facts *facts, int64_t total) {
    double done[FACTS_BUCKETS], all[FACTS_BUCKETS], items = 0, failed = 0;
    struct columns columns = columns_of(facts, FACTS_BUCKETS);
    for (int i = 0; i < FACTS_BUCKETS; i++) {
        items += facts->done_at[i];
        failed += facts->failed_at[i];
        done[column_of(&columns, i)] = items;
        all[column_of(&columns, i)] = items + failed;
    }
    double most = (double)MAX(total, 1);
    page_add(page, "<div class=\"plot\"><div class=\"y\"><span>100 %%</span><span>50 %%</span>"
                   "<span>0</span></div>");
    open_plot(page, "items done over time");
    slope(page, "failed", &columns, all, most);
    slope(page, "done", &columns, done, most);
    takeovers(page, facts);
    tips(page, &columns, &(struct tip){.after = " done", .values = done});
    page_add(page, "</svg>");
    time_axis(page, (int64_t)columns.end_ms);
}

struct step_chart {
    const double *buckets; /* [FACTS_BUCKETS] */
    double unit;           /* a step is a bucket's value per millisecond, times unit */
    double mean;           /* as a line; NAN: none */
    const char *class;     /* of the SVG path */
    struct tip tip;
};

static void chart_steps(struct page *page, const struct facts *facts,
                        const struct step_chart *chart) {
    double values[FACTS_BUCKETS] = {0}, most = 0;
    struct columns columns = columns_of(facts, STEPS_MAX);
    for (int i = 0; i < FACTS_BUCKETS; i++) {
        int at = column_of(&columns, i);
        values[at] += chart->buckets[i] * chart->unit / ms_of(&columns, at);
        most = MAX(most, values[at]);
    }
    most = tidy(most, /* is_count= */ false);
    scale(page, most);
    open_plot(page, chart->tip.label);
    area(page, chart->class, &columns, values, most);
    if (!isnan(chart->mean)) {
        page_add(page, "<path class=\"mean\" d=\"M0 %.2fH%d\"/>", HIGH - HIGH * chart->mean / most,
                 WIDE);
    }
    takeovers(page, facts);
    struct tip with_values = chart->tip;
    with_values.values = values;
    tips(page, &columns, &with_values);
    page_add(page, "</svg>");
    time_axis(page, (int64_t)columns.end_ms);
}

void chart_rate(struct page *page, const struct facts *facts, const char *unit) {
    char after[64];
    snprintf(after, sizeof after, " %s/s", unit);
    double mean =
        (double)(facts->items - facts->failed_items) * 1000 / (double)MAX(facts->end_ms, 1);
    chart_steps(page, facts,
                &(struct step_chart){
                    .buckets = facts->items_at,
                    .unit = 1000,
                    .mean = mean,
                    .class = "done",
                    .tip = {.label = "items a second over time", .after = after, .is_mean = true},
                });
}

void chart_busy(struct page *page, const struct facts *facts) {
    chart_steps(page, facts,
                &(struct step_chart){
                    .buckets = facts->busy_at,
                    .unit = 1,
                    .mean = NAN,
                    .class = "busy",
                    .tip = {.label = "mini-batches at the same time",
                            .after = " at a time",
                            .is_mean = true},
                });
}

/* ---- bars ----------------------------------------------------------------------------------- */

static void bar(struct page *page, int at, int count, double share) {
    double wide = (double)WIDE / count;
    page_add(page, "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
             at * wide + wide * 0.05, HIGH - HIGH * share, wide * 0.9, HIGH * share);
}

void chart_durations(struct page *page, const struct facts *facts) {
    int first = FACTS_DURATIONS, last = -1;
    for (int i = 0; i < FACTS_DURATIONS; i++) {
        if (facts->durations[i]) {
            first = MIN(first, i);
            last = i;
        }
    }
    if (last < 0) {
        return;
    }
    /* Two empty places on each side, so that a single bar does not fill the chart; at most BARS_MAX
     * bars, all with the same number of buckets. */
    first = MAX(0, first - 2);
    last = MIN(FACTS_DURATIONS - 1, last + 2);
    int each = (last - first + BARS_MAX) / BARS_MAX, count = (last - first) / each + 1;
    int64_t counts[BARS_MAX + 1] = {0}, most = 1;
    for (int i = first; i <= last; i++) {
        counts[(i - first) / each] += facts->durations[i];
        most = MAX(most, counts[(i - first) / each]);
    }
    double top = tidy((double)most, /* is_count= */ true);
    scale(page, top);
    open_plot(page, "mini-batches by duration");
    for (int i = 0; i < count; i++) {
        if (counts[i] > 0) {
            /* One in a million must still be visible. */
            bar(page, i, count, MAX((double)counts[i] / top, 0.012));
            page_add(page, "<title>");
            page_time(page, facts_duration_ms(first + i * each));
            page_add(page, " to ");
            page_time(page, facts_duration_ms(first + (i + 1) * each));
            page_add(page, ": ");
            page_count(page, counts[i]);
            page_add(page, "</title></rect>");
        }
    }
    page_add(page, "</svg><div class=\"x\">");
    for (int i = 0; i <= 4; i++) {
        page_add(page, "<span%s style=\"left:%d%%\">",
                 i == 0   ? " class=\"first\""
                 : i == 4 ? " class=\"last\""
                          : "",
                 i * 25);
        page_time(page, facts_duration_ms(first + i * count * each / 4));
        page_add(page, "</span>");
    }
    page_add(page, "</div></div>");
}

void chart_shares(struct page *page, const int64_t counts[static 10]) {
    int64_t most = 1;
    for (int i = 0; i < 10; i++) {
        most = MAX(most, counts[i]);
    }
    double top = tidy((double)most, /* is_count= */ true);
    scale(page, top);
    open_plot(page, "workers by busy share");
    for (int i = 0; i < 10; i++) {
        if (counts[i] > 0) {
            bar(page, i, 10, MAX((double)counts[i] / top, 0.012));
            page_add(page, "<title>busy %d to %d %%: ", i * 10, i * 10 + 10);
            page_count(page, counts[i]);
            page_add(page, " workers</title></rect>");
        }
    }
    page_add(page, "</svg><div class=\"x\">");
    for (int i = 0; i <= 4; i++) {
        page_add(page, "<span%s style=\"left:%d%%\">%d %%</span>",
                 i == 0   ? " class=\"first\""
                 : i == 4 ? " class=\"last\""
                          : "",
                 i * 25, i * 25);
    }
    page_add(page, "</div></div>");
}

void chart_strip(struct page *page, const struct facts *facts, const struct facts_worker *worker,
                 int slots) {
    double place_ms = (double)facts->width_ms * FACTS_BUCKETS / FACTS_STRIP;
    double end_ms = (double)MAX(facts->end_ms, 1), before = -1;
    page_add(page,
             "<svg class=\"strip\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
             "role=\"img\" aria-label=\"busy over time\"><path class=\"busy\" d=\"M0 %d",
             WIDE, STRIP_HIGH, STRIP_HIGH);
    for (int i = 0; i < FACTS_STRIP && i * place_ms < end_ms; i++) {
        double ms = MAX(1, MIN(place_ms, end_ms - i * place_ms));
        double y = STRIP_HIGH * (1 - MIN((double)worker->strip[i] / (ms * slots), 1));
        double x = MIN(WIDE, WIDE * (i + 1) * place_ms / end_ms);
        if (fabs(y - before) >= 0.05) {
            page_add(page, "V%.1f", y);
            before = y;
        }
        page_add(page, "H%.0f", x);
    }
    page_add(page, "V%dz\"/></svg>", STRIP_HIGH);
}
