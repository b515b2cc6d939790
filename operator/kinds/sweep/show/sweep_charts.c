// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_charts.h"

#include "operator/kinds/sweep/show/sweep_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In units of a chart (sweep_scale.h). */
enum {
    LETTER = 9,    /* approximate width of a capital letter */
    ROW = 16,      /* height of a line of text */
    AXIS_MIN = 110 /* from one parameter to the next */
};

static const char *const state_names[] = {"running", "completed", "stopped", "failed"};
_Static_assert(ARRAY_LEN(state_names) == SWEEP_STATES, "a name for each state");

/* ---- which trials, and how ------------------------------------------------------------------ */

const char *sweep_class(const struct sweep_trial *trial, const struct sweep_trial *best) {
    return trial == best ? "best" : state_names[trial->state];
}

const struct sweep_trial *sweep_drawn(const struct sweep_facts *facts,
                                      const struct sweep_trial *best, size_t i) {
    size_t count = facts->trial_count;
    size_t first = count > SWEEP_HTML_LINES_MAX ? count - SWEEP_HTML_LINES_MAX : 0;
    if (first + i < count) {
        const struct sweep_trial *trial = &facts->trials[first + i];
        return trial == best ? &facts->trials[count] : trial; /* drawn last */
    }
    return first + i == count ? best : NULL;
}

static bool read_number(const char *text, double *ret_value) {
    char *end = NULL;
    *ret_value = strtod(text, &end);
    return end != text && !*end && isfinite(*ret_value);
}

const char *sweep_short(const char *value, int digits, char text[static SWEEP_SHORT_MAX]) {
    double number;
    if (!strpbrk(value, ".e") || !read_number(value, &number)) {
        return value;
    }
    snprintf(text, SWEEP_SHORT_MAX, "%.*g", digits, number);
    return strlen(text) < strlen(value) ? text : value;
}

void sweep_title(struct page *page, const struct sweep_facts *facts,
                 const struct sweep_trial *trial) {
    page_add(page, "<title>");
    page_text(page, trial->name, SWEEP_NAME_MAX_BYTES);
    page_add(page, ", %s", state_names[trial->state]);
    if (isfinite(trial->best)) {
        page_add(page, ": ");
        page_text(page, facts->metric, SWEEP_NAME_MAX_BYTES);
        page_add(page, " %.6g", trial->best);
    }
    for (size_t i = 0; trial->values && i < facts->parameter_count; i++) {
        char text[SWEEP_SHORT_MAX];
        page_add(page, i ? ", " : "; ");
        page_text(page, facts->parameters[i], SWEEP_NAME_MAX_BYTES);
        page_add(page, "=");
        page_text(page, sweep_short(trial->values[i], SWEEP_DIGITS, text), SWEEP_NAME_MAX_BYTES);
    }
    page_add(page, "</title>");
}

/* The opacity of a line, 0 to 1: better trials are more visible. */
static double share_of(const struct sweep_facts *facts, const struct sweep_scale *y, double value) {
    double share = (sweep_scale_place(y, value) - y->from) / (y->to - y->from);
    return isfinite(share) ? facts->is_minimized ? 1 - share : share : 0.5;
}

static void open_line(struct page *page, const struct sweep_facts *facts,
                      const struct sweep_scale *y, const struct sweep_trial *trial,
                      const struct sweep_trial *best) {
    page_add(page, "<path class=\"%s\"", sweep_class(trial, best));
    if (trial != best && trial->state == SWEEP_COMPLETED && isfinite(trial->best)) {
        double share = share_of(facts, y, trial->best);
        page_add(page, " stroke-opacity=\"%.2f\"", 0.25 + 0.65 * share * share);
    }
    page_add(page, " d=\"");
}

/* ---- over reports, over trials -------------------------------------------------------------- */

static double across(const struct curve_point *point, bool by_step) {
    return by_step ? (double)point->step : (double)point->reports;
}

static void add_curve(struct page *page, const struct curve *curve, const struct sweep_scale *x,
                      const struct sweep_scale *y, bool by_step) {
    bool is_begun = false;
    for (int k = 0; k < curve->count; k++) {
        if (isfinite(curve->at[k].best)) {
            page_add(page, "%c%.1f %.1f", is_begun ? 'L' : 'M',
                     sweep_scale_place(x, across(&curve->at[k], by_step)),
                     sweep_scale_place(y, curve->at[k].best));
            is_begun = true;
        }
    }
    page_add(page, curve->count == 1 ? "h3\">" : "\">");
}

/* The best so far of every trial, over its steps if all points have them, otherwise over its
 * reports. */
static void add_curves(struct page *page, const struct sweep_facts *facts,
                       const struct sweep_trial *best) {
    struct sweep_scale x = {.from = SWEEP_SCALE_LEFT,
                            .to = SWEEP_SCALE_WIDE - SWEEP_SCALE_RIGHT,
                            .is_counted = true},
                       y = {.from = SWEEP_SCALE_HIGH - SWEEP_SCALE_BOTTOM - SWEEP_SCALE_EDGE,
                            .to = SWEEP_SCALE_TOP + SWEEP_SCALE_EDGE};
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    bool by_step = true;
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            by_step &= trial->curve.at[k].step >= 0;
            sweep_scale_widen(&y, trial->curve.at[k].best);
        }
    }
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            sweep_scale_widen(&x, across(&trial->curve.at[k], by_step));
        }
    }
    sweep_scale_settle(&y);
    page_add(page, "<h2>Best so far over %s, each trial</h2>", by_step ? "steps" : "reports");
    if (!x.is_known || !y.is_known) {
        page_add(page, "<p>No trial has a point of its curve yet.</p>");
        return;
    }
    sweep_scale_open_svg(page, "the metric of every trial", SWEEP_SCALE_WIDE);
    sweep_scale_add_axes(page, &x, &y);
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        if (trial != none && trial->curve.count > 0) {
            open_line(page, facts, &y, trial, best);
            add_curve(page, &trial->curve, &x, &y, by_step);
            sweep_title(page, facts, trial);
            page_add(page, "</path>");
        }
    }
    page_add(page, "</svg></div>");
}

bool sweep_is_better(const struct sweep_facts *facts, double a, double b) {
    return isfinite(a) && (!isfinite(b) || (facts->is_minimized ? a < b : a > b));
}

/* How the best value was reached: the result of each trial, and the best so far. */
static void add_ahead(struct page *page, const struct sweep_facts *facts,
                      const struct sweep_trial *winner) {
    struct sweep_scale x = {.from = SWEEP_SCALE_LEFT,
                            .to = SWEEP_SCALE_WIDE - SWEEP_SCALE_RIGHT,
                            .is_counted = true},
                       y = {.from = SWEEP_SCALE_HIGH - SWEEP_SCALE_BOTTOM - SWEEP_SCALE_EDGE,
                            .to = SWEEP_SCALE_TOP + SWEEP_SCALE_EDGE};
    double best = (double)NAN;
    for (size_t i = 0; i < facts->trial_count; i++) {
        if (isfinite(facts->trials[i].best)) {
            sweep_scale_widen(&x, (double)facts->trials[i].index);
            sweep_scale_widen(&y, facts->trials[i].best);
        }
    }
    if (!y.is_known) {
        return;
    }
    sweep_scale_settle(&y);
    page_add(page, "<h2>What each trial reached, and the best so far</h2>");
    sweep_scale_open_svg(page, "the best trial so far", SWEEP_SCALE_WIDE);
    sweep_scale_add_axes(page, &x, &y);
    page_add(page, "<path class=\"ahead\" d=\"");
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (sweep_is_better(facts, trial->best, best)) {
            page_add(page, isfinite(best) ? "H%.1fV%.1f" : "M%.1f %.1f",
                     sweep_scale_place(&x, (double)trial->index),
                     sweep_scale_place(&y, trial->best));
            best = trial->best;
        }
    }
    page_add(page, "H%d\"/>", SWEEP_SCALE_WIDE - SWEEP_SCALE_RIGHT);
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (isfinite(trial->best)) {
            page_add(page, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">",
                     sweep_class(trial, winner), sweep_scale_place(&x, (double)trial->index),
                     sweep_scale_place(&y, trial->best), trial == winner ? 6 : 3);
            sweep_title(page, facts, trial);
            page_add(page, "</circle>");
        }
    }
    page_add(page, "</svg></div>");
}

/* ---- parallel coordinates ------------------------------------------------------------------- */

/* One parameter. Numbers have a scale; each text has a position, in order of appearance. */
struct axis {
    struct sweep_scale scale;
    bool is_number;
    const char *texts[SWEEP_HTML_LINES_MAX];
    size_t count;
    double x;
};

static size_t find_text(const struct axis *axis, const char *text) {
    size_t i = 0;
    while (i < axis->count && strcmp(axis->texts[i], text) != 0) {
        i++;
    }
    return i;
}

static void read_axis(const struct sweep_facts *facts, const struct sweep_trial *best, size_t which,
                      struct axis *axis) {
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    axis->is_number = axis->scale.is_counted = true;
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        double value;
        if (trial == none || !trial->values) {
            continue;
        }
        bool is_one = read_number(trial->values[which], &value);
        axis->is_number &= is_one;
        axis->scale.is_counted &= is_one && value == round(value);
        sweep_scale_widen(&axis->scale, is_one ? value : (double)NAN);
        if (find_text(axis, trial->values[which]) == axis->count &&
            axis->count < SWEEP_HTML_LINES_MAX) {
            axis->texts[axis->count++] = trial->values[which];
        }
    }
    axis->scale.is_logarithmic = axis->is_number && axis->scale.least > 0 &&
                                 facts->is_logarithmic && facts->is_logarithmic[which];
    if (!axis->is_number) {
        axis->scale.least = 0;
        axis->scale.most = (double)MAX(axis->count, 2) - 1;
    }
}

static double place_on(const struct axis *axis, const char *text) {
    double value = 0;
    if (!axis->is_number) {
        return sweep_scale_place(&axis->scale, (double)find_text(axis, text));
    }
    return read_number(text, &value) ? sweep_scale_place(&axis->scale, value) : axis->scale.from;
}

static void add_tick(struct page *page, const struct axis *axis, double value) {
    double at = sweep_scale_place(&axis->scale, value);
    page_add(page, "<path class=\"axis\" d=\"M%.1f %.1fh4\"/><text x=\"%.1f\" y=\"%.1f\">", axis->x,
             at, axis->x + 7, at + 4);
}

static void add_axis(struct page *page, const struct axis *axis, double gap) {
    double ticks[SWEEP_SCALE_TICKS_MAX];
    int count = axis->is_number ? sweep_scale_ticks(&axis->scale, ticks) : 0;
    page_add(page, "<path class=\"axis\" d=\"M%.1f %.1fV%.1f\"/>", axis->x, axis->scale.to,
             axis->scale.from);
    for (int i = 0; i < count && axis->scale.is_known; i++) {
        add_tick(page, axis, ticks[i]);
        page_add(page, "%.4g</text>", ticks[i]);
    }
    size_t each = axis->count / 14 + 1; /* every each-th label has room */
    for (size_t i = 0; !axis->is_number && i < axis->count; i += each) {
        add_tick(page, axis, (double)i);
        page_text(page, axis->texts[i], (size_t)(gap / LETTER));
        page_add(page, "</text>");
    }
}

/* The layout of a chart's axes and their names. */
struct frame {
    int wide, rows; /* rows: of names, one or two */
    double gap;     /* from one axis to the next */
};

static struct frame make_frame(const struct sweep_facts *facts) {
    size_t count = facts->parameter_count, longest = strlen(facts->metric);
    for (size_t i = 0; i < count; i++) {
        longest = MAX(longest, strlen(facts->parameters[i]));
    }
    struct frame frame = {.wide =
                              MAX(SWEEP_SCALE_WIDE, 2 * SWEEP_SCALE_LEFT + (int)count * AXIS_MIN)};
    frame.gap = (double)(frame.wide - 2 * SWEEP_SCALE_LEFT) / (double)MAX(count, 1);
    frame.rows = (double)MIN(longest, SWEEP_NAME_MAX_BYTES) * LETTER > frame.gap ? 2 : 1;
    return frame;
}

/* Long names alternate between two rows; a name that still does not fit is truncated, and complete
 * in its title. */
static void add_name(struct page *page, const struct frame *frame, const struct axis *axis,
                     size_t k, size_t last, const char *name) {
    bool is_first = k == 0, is_last = k == last;
    double x = is_first ? SWEEP_SCALE_EDGE : is_last ? frame->wide - SWEEP_SCALE_EDGE : axis->x;
    size_t room = (size_t)(frame->gap * (is_first || is_last ? 0.7 : 1) * frame->rows / LETTER);
    page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\"><title>", x,
             SWEEP_SCALE_TOP + (int)(k % (size_t)frame->rows) * ROW,
             is_first  ? "start"
             : is_last ? "end"
                       : "middle");
    page_text(page, name, SWEEP_NAME_MAX_BYTES);
    page_add(page, "</title>");
    page_text(page, name, MIN(MAX(room, (size_t)6), (size_t)SWEEP_NAME_MAX_BYTES));
    page_add(page, "</text>");
}

static void add_values(struct page *page, const struct sweep_facts *facts,
                       const struct sweep_trial *trial, const struct sweep_trial *best,
                       const struct axis *axes) {
    const struct axis *last = &axes[facts->parameter_count];
    open_line(page, facts, &last->scale, trial, best);
    for (size_t k = 0; k < facts->parameter_count; k++) {
        page_add(page, "%c%.1f %.1f", k ? 'L' : 'M', axes[k].x,
                 place_on(&axes[k], trial->values[k]));
    }
    page_add(page, "L%.1f %.1f\">", last->x, sweep_scale_place(&last->scale, trial->best));
    sweep_title(page, facts, trial);
    page_add(page, "</path>");
}

static void add_parallel(struct page *page, const struct sweep_facts *facts,
                         const struct sweep_trial *best) {
    size_t count = facts->parameter_count;
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    struct axis *axes = x_calloc(count + 1, sizeof *axes), *last = &axes[count];
    struct frame frame = make_frame(facts);
    for (size_t k = 0; k <= count; k++) {
        axes[k].x = SWEEP_SCALE_LEFT + (double)k * frame.gap;
        axes[k].scale.from = SWEEP_SCALE_HIGH - SWEEP_SCALE_BOTTOM;
        axes[k].scale.to = SWEEP_SCALE_TOP + ROW * frame.rows;
        if (k < count) {
            read_axis(facts, best, k, &axes[k]);
        }
    }
    last->is_number = true;
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        sweep_scale_widen(&last->scale, trial == none ? (double)NAN : trial->best);
    }
    sweep_scale_settle(&last->scale);
    page_add(page, "<h2>Parameters, and what came of them</h2>");
    sweep_scale_open_svg(page, "parallel coordinates", frame.wide);
    for (size_t i = 0; last->scale.is_known && count && (trial = sweep_drawn(facts, best, i));
         i++) {
        if (trial != none && trial->values && isfinite(trial->best)) {
            add_values(page, facts, trial, best, axes);
        }
    }
    for (size_t k = 0; k <= count; k++) {
        add_axis(page, &axes[k], frame.gap);
        add_name(page, &frame, &axes[k], k, count,
                 k < count ? facts->parameters[k] : facts->metric);
    }
    page_add(page, "</svg></div>");
    free(axes);
}

void sweep_charts(struct page *page, const struct sweep_facts *facts,
                  const struct sweep_trial *best) {
    add_curves(page, facts, best);
    add_ahead(page, facts, best);
    add_parallel(page, facts, best);
}
