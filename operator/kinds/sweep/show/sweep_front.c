// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_front.h"

#include "operator/kinds/sweep/show/sweep_charts.h"
#include "operator/kinds/sweep/show/sweep_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINT = 4, FRONT_POINT = 6 }; /* radii */

/* ---- which trials --------------------------------------------------------------------------- */

/* The trials of the charts, each once. Those on the front are all there, however old they are. */
struct drawing {
    const struct sweep_trial **trials;
    size_t front_count; /* the first ones, by the first further objective, the best first */
    size_t count;
    const struct sweep_trial *best; /* one of them; NULL: no trial has a number */
};

static bool is_on_front(const struct drawing *drawing, const struct sweep_trial *trial) {
    for (size_t i = 0; i < drawing->front_count; i++) {
        if (drawing->trials[i] == trial) {
            return true;
        }
    }
    return false;
}

static const struct sweep_trial *find_trial(const struct sweep_facts *facts, int64_t index,
                                            const char *name) {
    size_t from = 0, to = facts->trial_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (facts->trials[middle].index < index) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    while (from < facts->trial_count && facts->trials[from].index == index &&
           strcmp(facts->trials[from].name, name) != 0) {
        from++; /* the annotation with the index is anybody's to write */
    }
    bool is_found = from < facts->trial_count && facts->trials[from].index == index;
    return is_found ? &facts->trials[from] : NULL;
}

struct step {
    const struct sweep_trial *trial;
    double across; /* less is better */
};

static int by_step(const void *left, const void *right) {
    const struct step *a = left, *b = right;
    return a->across != b->across ? (a->across > b->across) - (a->across < b->across)
                                  : (a->trial > b->trial) - (a->trial < b->trial);
}

static void take_front(const struct sweep_facts *facts, struct drawing *drawing) {
    double sign = facts->also[0].is_minimized ? 1 : -1;
    size_t count = json_array_size(facts->front);
    struct step *steps = x_calloc(count, sizeof *steps);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(facts->front, i);
        const struct sweep_trial *trial =
            find_trial(facts, tree_integer(one, "index", -1), tree_text(one, "trial", ""));
        if (trial && !is_on_front(drawing, trial)) {
            double across = sign * trial->also[0];
            steps[drawing->front_count].trial = trial;
            steps[drawing->front_count].across = isfinite(across) ? across : (double)INFINITY;
            drawing->trials[drawing->front_count++] = trial;
        }
    }
    qsort(steps, drawing->front_count, sizeof *steps, by_step);
    for (size_t i = 0; i < drawing->front_count; i++) {
        drawing->trials[i] = steps[i].trial;
    }
    drawing->count = drawing->front_count;
    free(steps);
}

/* The caller frees trials. */
static void take_trials(const struct sweep_facts *facts, const struct sweep_trial *best,
                        struct drawing *drawing) {
    const struct sweep_trial *trial, *none = &facts->trials[facts->trial_count];
    size_t room = json_array_size(facts->front) + SWEEP_HTML_LINES_MAX + 1;
    *drawing = (struct drawing){.trials = x_calloc(room, sizeof *drawing->trials), .best = best};
    take_front(facts, drawing);
    for (size_t i = 0; (trial = sweep_drawn(facts, best, i)); i++) {
        if (trial != none && !is_on_front(drawing, trial)) {
            drawing->trials[drawing->count++] = trial;
        }
    }
}

/* ---- a chart -------------------------------------------------------------------------------- */

struct chart {
    struct sweep_scale x, y; /* a further objective; the first one */
    size_t also;
};

static bool has_both(const struct sweep_trial *trial, size_t also) {
    return isfinite(trial->best) && isfinite(trial->also[also]);
}

static void add_point(struct page *page, const struct sweep_facts *facts, const struct chart *chart,
                      const struct drawing *drawing, const struct sweep_trial *trial) {
    if (!has_both(trial, chart->also)) {
        return;
    }
    bool is_front = is_on_front(drawing, trial);
    page_add(page, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">",
             trial != drawing->best && is_front ? "front" : sweep_class(trial, drawing->best),
             sweep_scale_place(&chart->x, trial->also[chart->also]),
             sweep_scale_place(&chart->y, trial->best), is_front ? FRONT_POINT : POINT);
    sweep_title(page, facts, trial);
    page_add(page, "</circle>");
}

/* In the order of drawing: those on the front above the others, and the best above all. */
static void add_points(struct page *page, const struct sweep_facts *facts,
                       const struct chart *chart, const struct drawing *drawing) {
    for (size_t i = drawing->count; i > 0; i--) {
        if (drawing->trials[i - 1] != drawing->best) {
            add_point(page, facts, chart, drawing, drawing->trials[i - 1]);
        }
    }
    if (drawing->best) {
        add_point(page, facts, chart, drawing, drawing->best);
    }
}

/* What is beaten is on the worse side of this line. With more objectives there is none. */
static void add_border(struct page *page, const struct sweep_facts *facts,
                       const struct chart *chart, const struct drawing *drawing) {
    const struct sweep_trial *last = NULL;
    for (size_t i = 0; facts->also_count == 1 && i < drawing->front_count; i++) {
        const struct sweep_trial *trial = drawing->trials[i];
        if (!has_both(trial, 0) || (last && last->also[0] == trial->also[0])) {
            continue;
        }
        page_add(page, last ? "H%.1fV%.1f" : "<path class=\"ahead\" d=\"M%.1f %.1f",
                 sweep_scale_place(&chart->x, trial->also[0]),
                 sweep_scale_place(&chart->y, trial->best));
        last = trial;
    }
    page_add(page, last ? "\"/>" : "");
}

static void add_goal(struct page *page, const char *metric, bool is_minimized) {
    page_text(page, metric, SWEEP_NAME_MAX_BYTES);
    page_add(page, " (%s is better)", is_minimized ? "less" : "more");
}

static void add_chart(struct page *page, const struct sweep_facts *facts, size_t also,
                      const struct drawing *drawing) {
    struct chart chart = {.x = {.from = SWEEP_SCALE_LEFT + FRONT_POINT,
                                .to = SWEEP_SCALE_WIDE - SWEEP_SCALE_RIGHT - FRONT_POINT},
                          .y = {.from = SWEEP_SCALE_HIGH - SWEEP_SCALE_BOTTOM - SWEEP_SCALE_EDGE,
                                .to = SWEEP_SCALE_TOP + SWEEP_SCALE_EDGE},
                          .also = also};
    for (size_t i = 0; i < drawing->count; i++) {
        if (has_both(drawing->trials[i], also)) {
            sweep_scale_widen(&chart.x, drawing->trials[i]->also[also]);
            sweep_scale_widen(&chart.y, drawing->trials[i]->best);
        }
    }
    if (!chart.x.is_known) {
        return;
    }
    sweep_scale_settle(&chart.x);
    sweep_scale_settle(&chart.y);
    page_add(page, "<p>");
    add_goal(page, facts->metric, facts->is_minimized);
    page_add(page, " over ");
    add_goal(page, facts->also[also].metric, facts->also[also].is_minimized);
    page_add(page, "</p>");
    sweep_scale_open_svg(page, "two objectives of every trial", SWEEP_SCALE_WIDE);
    sweep_scale_add_axes(page, &chart.x, &chart.y);
    add_border(page, facts, &chart, drawing);
    add_points(page, facts, &chart, drawing);
    page_add(page, "</svg></div>");
}

/* ---- the table ------------------------------------------------------------------------------ */

struct place {
    const json_t *one; /* of status.front */
    double value;      /* of the first objective, less is better */
};

static int by_value(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

static const char *objective_of(const json_t *one, const char *metric) {
    const char *text =
        json_string_value(json_object_get(json_object_get(one, "objectives"), metric));
    return text ? text : "";
}

static void add_cell(struct page *page, const json_t *one, const char *metric) {
    page_add(page, "</td><td>");
    page_text(page, objective_of(one, metric), SWEEP_NAME_MAX_BYTES);
}

static void add_rows(struct page *page, const struct sweep_facts *facts, const struct place *places,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        page_add(page, "<tr><td>");
        page_text(page, tree_text(places[i].one, "trial", ""), SWEEP_NAME_MAX_BYTES);
        add_cell(page, places[i].one, facts->metric);
        for (size_t k = 0; k < facts->also_count; k++) {
            add_cell(page, places[i].one, facts->also[k].metric);
        }
        page_add(page, "</td></tr>");
    }
}

static void add_table(struct page *page, const struct sweep_facts *facts) {
    size_t count = json_array_size(facts->front);
    struct place *places = x_calloc(count, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(facts->front, i);
        double value = strtod(objective_of(one, facts->metric), NULL);
        places[i] = (struct place){one, facts->is_minimized ? value : -value};
    }
    qsort(places, count, sizeof *places, by_value);
    page_add(page, "<div class=\"list\"><table><thead><tr><th>Trial</th><th>");
    page_text(page, facts->metric, SWEEP_NAME_MAX_BYTES);
    for (size_t k = 0; k < facts->also_count; k++) {
        page_add(page, "</th><th>");
        page_text(page, facts->also[k].metric, SWEEP_NAME_MAX_BYTES);
    }
    page_add(page, "</th></tr></thead><tbody>");
    add_rows(page, facts, places, count);
    page_add(page, "</tbody></table></div>");
    free(places);
}

void sweep_front(struct page *page, const struct sweep_facts *facts,
                 const struct sweep_trial *best) {
    if (json_array_size(facts->front) == 0) {
        return;
    }
    struct drawing drawing;
    take_trials(facts, best, &drawing);
    page_add(page, "<h2>Pareto front</h2><div class=\"front\"><div class=\"chart\">");
    for (size_t k = 0; k < facts->also_count; k++) {
        add_chart(page, facts, k, &drawing);
    }
    free(drawing.trials);
    page_add(page, "</div>");
    add_table(page, facts);
    page_add(page, "</div>");
}
