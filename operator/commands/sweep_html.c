// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/sweep_html.h"

#include "lib/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chart's own units; a page shows them as wide as there is room. */
enum { WIDE = 1000, HIGH = 300, LEFT = 70, RIGHT = 30, TOP = 12, BOTTOM = 26, NAME_MAX_BYTES = 40 };

static const char *const state_names[] = {"running", "completed", "stopped", "failed"};
_Static_assert(ARRAY_LEN(state_names) == SWEEP_STATES, "a name for each state");

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;"
    "color:#1c2733;background:#fff}h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 "
    ".3rem}p{margin:.3rem 0}.chart{overflow:auto}svg{width:100%;min-width:40rem;height:auto}"
    "path{fill:none;stroke-width:1.3}.axis{stroke:#9aa7b4;stroke-width:1}.grid{stroke:#e4e9ee;"
    "stroke-width:1}.running{stroke:#2f7ed8}.completed{stroke:#3b6ea5}.stopped{stroke:#b9c1ca}"
    ".failed{stroke:#e0a3a3}.best{stroke:#e8710a;stroke-width:3}.ahead{stroke:#3b6ea5;"
    "stroke-width:2}text{font-size:12px;fill:#5b6875;paint-order:stroke;stroke:#fff;stroke-width:"
    "3px}i{display:inline-block;width:1.4em;height:."
    "25em;"
    "margin:0 .3em .2em 1em;background:#b9c1ca}i.completed{background:#3b6ea5}i.running{background:"
    "#2f7ed8}i.best{background:#e8710a}i.failed{background:#e0a3a3}table{border-collapse:collapse;"
    "font-size:.9rem}th,td{text-align:left;padding:.15rem .9rem .15rem 0;border-bottom:1px solid "
    "#e4e9ee}tr.best td{font-weight:600}"
    "@media(prefers-color-scheme:dark){body{color:#d6dee6;background:#12181f}.grid,th,td{stroke:"
    "#26303a;border-color:#26303a}text{fill:#8d9aa7;stroke:#12181f}.stopped{stroke:#4a5560}}";

static bool is_better(const struct sweep_facts *facts, double a, double b) {
    return isfinite(a) && (!isfinite(b) || (facts->is_minimized ? a < b : a > b));
}

const struct sweep_trial *sweep_best(const struct sweep_facts *facts) {
    const struct sweep_trial *best = NULL;
    for (int pass = 0; pass < 2 && !best; pass++) {
        for (size_t i = 0; i < facts->trial_count; i++) {
            const struct sweep_trial *trial = &facts->trials[i];
            if ((pass || trial->state == SWEEP_COMPLETED) &&
                is_better(facts, trial->best, best ? best->best : (double)NAN)) {
                best = trial;
            }
        }
    }
    return best;
}

/* ---- scales --------------------------------------------------------------------------------- */

struct scale {
    double least, most;
    bool is_logarithmic, is_known; /* is_known: there is a number */
    double from, to;               /* in the chart's units */
};

static void widen(struct scale *scale, double value) {
    if (isfinite(value)) {
        scale->least = scale->is_known ? MIN(scale->least, value) : value;
        scale->most = scale->is_known ? MAX(scale->most, value) : value;
        scale->is_known = true;
    }
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

static void open_svg(struct page *page, const char *label) {
    page_add(page,
             "<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">",
             WIDE, HIGH, label);
}

/* Left: most, the middle and least of y; below: those of x. */
static void add_axes(struct page *page, const struct scale *x, const struct scale *y) {
    for (int i = 0; i <= 4; i++) {
        double value = y->least + (y->most - y->least) * i / 4, at = place(y, value);
        page_add(page,
                 "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                 "text-anchor=\"end\">%.4g</text>",
                 LEFT, at, WIDE - RIGHT, LEFT - 8, at + 4, value);
        value = round(x->least + (x->most - x->least) * i / 4); /* they are counted */
        page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>",
                 place(x, value), HIGH - 6, value);
    }
}

/* ---- which trials are drawn ----------------------------------------------------------------- */

static const char *class_of(const struct sweep_trial *trial, const struct sweep_trial *best) {
    return trial == best ? "best" : state_names[trial->state];
}

/* Of too many: the newest, and the best one, which is drawn last, over all others. */
static const struct sweep_trial *drawn(const struct sweep_facts *facts,
                                       const struct sweep_trial *best, size_t i) {
    size_t count = facts->trial_count;
    size_t first = count > SWEEP_HTML_LINES_MAX ? count - SWEEP_HTML_LINES_MAX : 0;
    if (first + i < count) {
        const struct sweep_trial *trial = &facts->trials[first + i];
        return trial == best ? &facts->trials[count] : trial; /* passed over here */
    }
    return first + i == count ? best : NULL;
}

static void add_title(struct page *page, const struct sweep_facts *facts,
                      const struct sweep_trial *trial) {
    page_add(page, "<title>");
    page_text(page, trial->name, NAME_MAX_BYTES);
    if (isfinite(trial->best)) {
        page_add(page, ": best %.6g", trial->best);
    }
    for (size_t i = 0; trial->values && i < facts->parameter_count; i++) {
        page_add(page, ", ");
        page_text(page, facts->parameters[i], NAME_MAX_BYTES);
        page_add(page, " ");
        page_text(page, trial->values[i], NAME_MAX_BYTES);
    }
    page_add(page, "</title>");
}

/* ---- the charts ----------------------------------------------------------------------------- */

static double across(const struct curve_point *point, bool by_step) {
    return by_step ? (double)point->step : (double)point->reports;
}

/* The best so far of every trial, over its steps where all points have one, else its reports. */
static void add_curves(struct page *page, const struct sweep_facts *facts,
                       const struct sweep_trial *best) {
    struct scale x = {.from = LEFT, .to = WIDE - RIGHT}, y = {.from = HIGH - BOTTOM, .to = TOP};
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    bool by_step = true;
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            by_step &= trial->curve.at[k].step >= 0;
            widen(&y, trial->curve.at[k].best);
        }
    }
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        for (int k = 0; trial != none && k < trial->curve.count; k++) {
            widen(&x, across(&trial->curve.at[k], by_step));
        }
    }
    page_add(page, "<h2>Best so far over %s, each trial</h2>", by_step ? "steps" : "reports");
    if (!x.is_known || !y.is_known) {
        page_add(page, "<p>No trial has a point of its curve yet.</p>");
        return;
    }
    open_svg(page, "the metric of every trial");
    add_axes(page, &x, &y);
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        bool is_begun = false;
        if (trial == none || trial->curve.count == 0) {
            continue;
        }
        page_add(page, "<path class=\"%s\" d=\"", class_of(trial, best));
        for (int k = 0; k < trial->curve.count; k++) {
            const struct curve_point *point = &trial->curve.at[k];
            if (isfinite(point->best)) {
                page_add(page, "%c%.1f %.1f", is_begun ? 'L' : 'M',
                         place(&x, across(point, by_step)), place(&y, point->best));
                is_begun = true;
            }
        }
        page_add(page, trial->curve.count == 1 ? "h3\">" : "\">");
        add_title(page, facts, trial);
        page_add(page, "</path>");
    }
    page_add(page, "</svg></div>");
}

/* How the best one came about, trial by trial. */
static void add_ahead(struct page *page, const struct sweep_facts *facts) {
    struct scale x = {.from = LEFT, .to = WIDE - RIGHT}, y = {.from = HIGH - BOTTOM, .to = TOP};
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
    page_add(page, "<h2>Best so far over trials</h2>");
    open_svg(page, "the best trial so far");
    add_axes(page, &x, &y);
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (isfinite(trial->best)) {
            page_add(page, "<path class=\"%s\" d=\"M%.1f %.1fh4v4h-4z\"/>",
                     state_names[trial->state], place(&x, (double)trial->index) - 2,
                     place(&y, trial->best) - 2);
        }
    }
    page_add(page, "<path class=\"ahead\" d=\"");
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        if (is_better(facts, trial->best, best)) {
            page_add(page, isfinite(best) ? "H%.1fV%.1f" : "M%.1f %.1f",
                     place(&x, (double)trial->index), place(&y, trial->best));
            best = trial->best;
        }
    }
    page_add(page, "H%d\"/></svg></div>", WIDE - RIGHT);
}

/* ---- parallel coordinates ------------------------------------------------------------------- */

/* One parameter. Numbers have their scale, texts a place each, as they come. */
struct axis {
    struct scale scale;
    bool is_number;
    const char *texts[SWEEP_HTML_LINES_MAX];
    size_t count;
    double x;
};

static bool read_number(const char *text, double *ret_value) {
    char *end = NULL;
    *ret_value = strtod(text, &end);
    return end != text && !*end && isfinite(*ret_value);
}

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
    *axis = (struct axis){.scale = {.from = HIGH - BOTTOM, .to = TOP + 16}, .is_number = true};
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        double value;
        if (trial == none || !trial->values) {
            continue;
        }
        bool is_one = read_number(trial->values[which], &value);
        axis->is_number &= is_one;
        widen(&axis->scale, is_one ? value : (double)NAN);
        if (find_text(axis, trial->values[which]) == axis->count &&
            axis->count < SWEEP_HTML_LINES_MAX) {
            axis->texts[axis->count++] = trial->values[which];
        }
    }
    const struct scale *scale = &axis->scale;
    axis->scale.is_logarithmic =
        axis->is_number && scale->least > 0 && scale->most / scale->least >= 50;
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

static void add_axis(struct page *page, const struct axis *axis, const char *name) {
    page_add(page,
             "<path class=\"axis\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
             "text-anchor=\"middle\">",
             axis->x, TOP + 16, HIGH - BOTTOM, axis->x, TOP);
    page_text(page, name, NAME_MAX_BYTES);
    page_add(page, "</text>");
    for (size_t i = 0; !axis->is_number && i < MIN(axis->count, (size_t)12); i++) {
        page_add(page, "<text x=\"%.1f\" y=\"%.1f\">", axis->x + 5,
                 place(&axis->scale, (double)i) + 4);
        page_text(page, axis->texts[i], 20);
        page_add(page, "</text>");
    }
    for (int i = 0; axis->is_number && i < 2; i++) {
        double value = i ? axis->scale.most : axis->scale.least;
        page_add(page, "<text x=\"%.1f\" y=\"%.1f\">%.4g</text>", axis->x + 5,
                 (i ? axis->scale.to : axis->scale.from) + 4, value);
    }
}

static void add_parallel(struct page *page, const struct sweep_facts *facts,
                         const struct sweep_trial *best) {
    size_t count = facts->parameter_count;
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    struct axis *axes = x_calloc(count + 1, sizeof *axes), *last = &axes[count];
    last->scale = (struct scale){.from = HIGH - BOTTOM, .to = TOP + 16};
    last->is_number = true;
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        widen(&last->scale, trial == none ? (double)NAN : trial->best);
    }
    for (size_t k = 0; k < count; k++) {
        read_axis(facts, best, k, &axes[k]);
    }
    page_add(page, "<h2>Parameters, and what came of them</h2>");
    open_svg(page, "parallel coordinates");
    for (size_t k = 0; k <= count; k++) {
        axes[k].x = LEFT + (double)k * (WIDE - 2 * LEFT) / (double)MAX(count, 1);
    }
    for (size_t i = 0; last->scale.is_known && (trial = drawn(facts, best, i)); i++) {
        if (trial == none || !trial->values || !isfinite(trial->best)) {
            continue;
        }
        page_add(page, "<path class=\"%s\" d=\"", class_of(trial, best));
        for (size_t k = 0; k < count; k++) {
            page_add(page, "%c%.1f %.1f", k ? 'L' : 'M', axes[k].x,
                     place_on(&axes[k], trial->values[k]));
        }
        page_add(page, "L%.1f %.1f\">", last->x, place(&last->scale, trial->best));
        add_title(page, facts, trial);
        page_add(page, "</path>");
    }
    for (size_t k = 0; k <= count; k++) {
        add_axis(page, &axes[k], k < count ? facts->parameters[k] : facts->metric);
    }
    page_add(page, "</svg></div>");
    free(axes);
}

/* ---- the page ------------------------------------------------------------------------------- */

static void add_rows(struct page *page, const struct sweep_facts *facts,
                     const struct sweep_trial *best) {
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    page_add(page, "<h2>Trials</h2><div class=\"chart\"><table><thead><tr><th>Trial</th><th>State"
                   "</th><th>Best</th><th>Reports</th>");
    for (size_t i = 0; i < facts->parameter_count; i++) {
        page_add(page, "<th>");
        page_text(page, facts->parameters[i], NAME_MAX_BYTES);
        page_add(page, "</th>");
    }
    page_add(page, "<th></th></tr></thead><tbody>");
    for (size_t i = 0; (trial = drawn(facts, best, i)); i++) {
        if (trial == none) {
            continue;
        }
        page_add(page, trial == best ? "<tr class=\"best\"><td>" : "<tr><td>");
        page_text(page, trial->name, NAME_MAX_BYTES);
        page_add(page, "</td><td>%s</td><td>", state_names[trial->state]);
        if (isfinite(trial->best)) {
            page_add(page, "%.6g", trial->best);
        }
        page_add(page, "</td><td>");
        page_count(page, trial->reports);
        for (size_t k = 0; k < facts->parameter_count; k++) {
            page_add(page, "</td><td>");
            page_text(page, trial->values ? trial->values[k] : "", NAME_MAX_BYTES);
        }
        page_add(page, "</td><td>");
        page_text(page, trial->message ? trial->message : "", 200);
        page_add(page, "</td></tr>");
    }
    page_add(page, "</tbody></table></div>");
}

static void add_head(struct page *page, const struct sweep_facts *facts,
                     const struct sweep_trial *best) {
    page_add(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta "
                   "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>");
    page_text(page, facts->name, NAME_MAX_BYTES);
    page_add(page, "</title><style>");
    for (size_t at = 0, size = strlen(style); at < size; at += 2000) {
        page_add(page, "%.2000s", style + at);
    }
    page_add(page, "</style></head><body><h1>");
    page_text(page, facts->name, NAME_MAX_BYTES);
    page_add(page, "</h1><p>");
    page_text(page, facts->state, NAME_MAX_BYTES);
    page_add(page, ": ");
    page_text(page, facts->message, 400);
    page_add(page, "</p><p>");
    page_text(page, facts->metric, NAME_MAX_BYTES);
    page_add(page, ", %s is better", facts->is_minimized ? "less" : "more");
    if (best) {
        page_add(page, "; the best is %.6g of ", best->best);
        page_text(page, best->name, NAME_MAX_BYTES);
    }
    page_add(page, "<i class=\"best\"></i>best<i class=\"completed\"></i>completed<i "
                   "class=\"running\"></i>running<i></i>stopped<i class=\"failed\"></i>failed</p>");
    if (facts->trial_count > SWEEP_HTML_LINES_MAX) {
        page_add(page, "<p>Of %zu trials the newest %d and the best are shown.</p>",
                 facts->trial_count, SWEEP_HTML_LINES_MAX);
    }
}

int sweep_html(const struct sweep_facts *facts, char **ret_html, struct error *err) {
    AUTO(page_release) struct page page;
    const struct sweep_trial *best = sweep_best(facts);
    page_init(&page, SWEEP_HTML_MAX);
    add_head(&page, facts, best);
    add_curves(&page, facts, best);
    add_ahead(&page, facts);
    add_parallel(&page, facts, best);
    add_rows(&page, facts, best);
    page_add(&page, "</body></html>\n");
    if (page.err.kind) {
        return error_set(err, page.err.kind, "sweep.html: %s", page.err.text);
    }
    *ret_html = buffer_take(&page.text, NULL);
    return 0;
}
