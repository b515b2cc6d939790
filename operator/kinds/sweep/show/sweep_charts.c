// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units of a chart; a page scales it to the available width. */
enum {
    WIDE = 1000,
    HIGH = 300,
    LEFT = 70,
    RIGHT = 30,
    TOP = 12,
    BOTTOM = 26,
    EDGE = 6,      /* between the outermost numbers and the frame */
    LETTER = 9,    /* approximate width of a capital letter */
    ROW = 16,      /* height of a line of text */
    AXIS_MIN = 110 /* from one parameter to the next */
};
#define LOGARITHMIC_FROM 100 /* from this ratio of the largest to the smallest metric */

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

static void add_title(struct page *page, const struct sweep_facts *facts,
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

/* ---- scales --------------------------------------------------------------------------------- */

struct scale {
    double least, most;
    bool is_logarithmic, is_known; /* is_known: there is a number */
    bool is_counted;               /* ticks only at whole numbers */
    double from, to;               /* in the chart's units */
};

static void widen(struct scale *scale, double value) {
    if (isfinite(value)) {
        scale->least = scale->is_known ? MIN(scale->least, value) : value;
        scale->most = scale->is_known ? MAX(scale->most, value) : value;
        scale->is_known = true;
    }
}

/* On a linear scale one diverged trial would compress all others to a single line. */
static void settle(struct scale *scale) {
    scale->is_logarithmic = scale->least > 0 && scale->most / scale->least >= LOGARITHMIC_FROM;
}

static double place(const struct scale *scale, double value) {
    double least = scale->least, most = scale->most;
    if (scale->is_logarithmic) {
        value = log(value);
        least = log(least);
        most = log(most);
    }
    double share = most > least ? (value - least) / (most - least) : 0.5;
    return scale->from + share * (scale->to - scale->from);
}

enum { TICKS_MAX = 40 };

/* Three to six multiples of 1, 2 or 5 times a power of ten. */
static int ticks_linear(const struct scale *scale, double *ticks) {
    double width = scale->most - scale->least;
    if (!(width > 0)) {
        ticks[0] = scale->least;
        return 1;
    }
    double raw = width / 4, power = pow(10, floor(log10(raw))), times = raw / power;
    double step = (times < 1.5 ? 1 : times < 3 ? 2 : times < 7 ? 5 : 10) * power;
    step = scale->is_counted ? MAX(step, 1) : step;
    int count = 0;
    double first = ceil(scale->least / step - 1e-9);
    while (count < TICKS_MAX) {
        double k = first + count;
        if (k * step > scale->most + 1e-9 * step) {
            break;
        }
        ticks[count++] = k == 0 ? 0 : k * step; /* avoids -0 */
    }
    return count;
}

/* Powers of ten; if they are few, also 2 and 5 times them. */
static int ticks_of(const struct scale *scale, double *ticks) {
    double decades = scale->is_logarithmic ? log10(scale->most / scale->least) : 0;
    if (decades < 1.2) {
        return ticks_linear(scale, ticks);
    }
    static const double times[] = {1, 2, 5};
    int count = 0, each = (int)ceil(decades / 8);
    for (int k = (int)floor(log10(scale->least)); k <= log10(scale->most); k += each) {
        for (size_t i = 0; i < (decades < 3 ? ARRAY_LEN(times) : 1); i++) {
            double value = times[i] * pow(10, k);
            if (value >= scale->least * (1 - 1e-9) && value <= scale->most * (1 + 1e-9) &&
                count < TICKS_MAX) {
                ticks[count++] = value;
            }
        }
    }
    return count;
}

/* wide: in units; a chart that is wider than the page scrolls. */
static void open_svg(struct page *page, const char *label, int wide) {
    page_add(page, "<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\"",
             wide, HIGH, label);
    if (wide > WIDE) {
        page_add(page, " style=\"min-width:%dpx\"", wide * 9 / 10);
    }
    page_add(page, ">");
}

static void add_axes(struct page *page, const struct scale *x, const struct scale *y) {
    double ticks[TICKS_MAX];
    int count = ticks_of(y, ticks);
    for (int i = 0; i < count; i++) {
        double at = place(y, ticks[i]);
        page_add(page,
                 "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                 "text-anchor=\"end\">%.4g</text>",
                 LEFT, at, WIDE - RIGHT, LEFT - 8, at + 4, ticks[i]);
    }
    count = ticks_of(x, ticks);
    for (int i = 0; i < count; i++) {
        page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>",
                 place(x, ticks[i]), HIGH - 6, ticks[i]);
    }
}

/* The opacity of a line, 0 to 1: better trials are more visible. */
static double share_of(const struct sweep_facts *facts, const struct scale *y, double value) {
    double share = (place(y, value) - y->from) / (y->to - y->from);
    return isfinite(share) ? facts->is_minimized ? 1 - share : share : 0.5;
}

static void open_line(struct page *page, const struct sweep_facts *facts, const struct scale *y,
                      const struct sweep_trial *trial, const struct sweep_trial *best) {
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

static void add_curve(struct page *page, const struct curve *curve, const struct scale *x,
                      const struct scale *y, bool by_step) {
    bool is_begun = false;
    for (int k = 0; k < curve->count; k++) {
        if (isfinite(curve->at[k].best)) {
            page_add(page, "%c%.1f %.1f", is_begun ? 'L' : 'M',
                     place(x, across(&curve->at[k], by_step)), place(y, curve->at[k].best));
            is_begun = true;
        }
    }
    page_add(page, curve->count == 1 ? "h3\">" : "\">");
}

/* The best so far of every trial, over its steps if all points have them, otherwise over its
 * reports. */
static void add_curves(struct page *page, const struct sweep_facts *facts,
                       const struct sweep_trial *best) {
    struct scale x = {.from = LEFT, .to = WIDE - RIGHT, .is_counted = true},
                 y = {.from = HIGH - BOTTOM - EDGE, .to = TOP + EDGE};
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    bool by_step = true;
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            by_step &= trial->curve.at[k].step >= 0;
            widen(&y, trial->curve.at[k].best);
        }
    }
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            widen(&x, across(&trial->curve.at[k], by_step));
        }
    }
    settle(&y);
    page_add(page, "<h2>Best so far over %s, each trial</h2>", by_step ? "steps" : "reports");
    if (!x.is_known || !y.is_known) {
        page_add(page, "<p>No trial has a point of its curve yet.</p>");
        return;
    }
    open_svg(page, "the metric of every trial", WIDE);
    add_axes(page, &x, &y);
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        if (trial != none && trial->curve.count > 0) {
            open_line(page, facts, &y, trial, best);
            add_curve(page, &trial->curve, &x, &y, by_step);
            add_title(page, facts, trial);
            page_add(page, "</path>");
        }
    }
    page_add(page, "</svg></div>");
}

static bool is_better(const struct sweep_facts *facts, double a, double b) {
    return isfinite(a) && (!isfinite(b) || (facts->is_minimized ? a < b : a > b));
}

/* How the best value was reached: the result of each trial, and the best so far. */
static void add_ahead(struct page *page, const struct sweep_facts *facts,
                      const struct sweep_trial *winner) {
    struct scale x = {.from = LEFT, .to = WIDE - RIGHT, .is_counted = true},
                 y = {.from = HIGH - BOTTOM - EDGE, .to = TOP + EDGE};
    double best = (double)NAN;
    for (size_t i = 0; i < facts->trial_count; i++) {
        if (isfinite(facts->trials[i].best)) {
            widen(&x, (double)facts->trials[i].index);
            widen(&y, facts->trials[i].best);
        }
    }
    if (!y.is_known) {
        return;
    }
    settle(&y);
    page_add(page, "<h2>What each trial reached, and the best so far</h2>");
    open_svg(page, "the best trial so far", WIDE);
    add_axes(page, &x, &y);
    page_add(page, "<path class=\"ahead\" d=\"");
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (is_better(facts, trial->best, best)) {
            page_add(page, isfinite(best) ? "H%.1fV%.1f" : "M%.1f %.1f",
                     place(&x, (double)trial->index), place(&y, trial->best));
            best = trial->best;
        }
    }
    page_add(page, "H%d\"/>", WIDE - RIGHT);
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (isfinite(trial->best)) {
            page_add(page, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">",
                     sweep_class(trial, winner), place(&x, (double)trial->index),
                     place(&y, trial->best), trial == winner ? 6 : 3);
            add_title(page, facts, trial);
            page_add(page, "</circle>");
        }
    }
    page_add(page, "</svg></div>");
}

/* ---- parallel coordinates ------------------------------------------------------------------- */

/* One parameter. Numbers have a scale; each text has a position, in order of appearance. */
struct axis {
    struct scale scale;
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
        widen(&axis->scale, is_one ? value : (double)NAN);
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
        return place(&axis->scale, (double)find_text(axis, text));
    }
    return read_number(text, &value) ? place(&axis->scale, value) : axis->scale.from;
}

static void add_tick(struct page *page, const struct axis *axis, double value) {
    double at = place(&axis->scale, value);
    page_add(page, "<path class=\"axis\" d=\"M%.1f %.1fh4\"/><text x=\"%.1f\" y=\"%.1f\">", axis->x,
             at, axis->x + 7, at + 4);
}

static void add_axis(struct page *page, const struct axis *axis, double gap) {
    double ticks[TICKS_MAX];
    int count = axis->is_number ? ticks_of(&axis->scale, ticks) : 0;
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
    struct frame frame = {.wide = MAX(WIDE, 2 * LEFT + (int)count * AXIS_MIN)};
    frame.gap = (double)(frame.wide - 2 * LEFT) / (double)MAX(count, 1);
    frame.rows = (double)MIN(longest, SWEEP_NAME_MAX_BYTES) * LETTER > frame.gap ? 2 : 1;
    return frame;
}

/* Long names alternate between two rows; a name that still does not fit is truncated, and complete
 * in its title. */
static void add_name(struct page *page, const struct frame *frame, const struct axis *axis,
                     size_t k, size_t last, const char *name) {
    bool is_first = k == 0, is_last = k == last;
    double x = is_first ? EDGE : is_last ? frame->wide - EDGE : axis->x;
    size_t room = (size_t)(frame->gap * (is_first || is_last ? 0.7 : 1) * frame->rows / LETTER);
    page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\"><title>", x,
             TOP + (int)(k % (size_t)frame->rows) * ROW,
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
    page_add(page, "L%.1f %.1f\">", last->x, place(&last->scale, trial->best));
    add_title(page, facts, trial);
    page_add(page, "</path>");
}

static void add_parallel(struct page *page, const struct sweep_facts *facts,
                         const struct sweep_trial *best) {
    size_t count = facts->parameter_count;
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    struct axis *axes = x_calloc(count + 1, sizeof *axes), *last = &axes[count];
    struct frame frame = make_frame(facts);
    for (size_t k = 0; k <= count; k++) {
        axes[k].x = LEFT + (double)k * frame.gap;
        axes[k].scale.from = HIGH - BOTTOM;
        axes[k].scale.to = TOP + ROW * frame.rows;
        if (k < count) {
            read_axis(facts, best, k, &axes[k]);
        }
    }
    last->is_number = true;
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        widen(&last->scale, trial == none ? (double)NAN : trial->best);
    }
    settle(&last->scale);
    page_add(page, "<h2>Parameters, and what came of them</h2>");
    open_svg(page, "parallel coordinates", frame.wide);
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
