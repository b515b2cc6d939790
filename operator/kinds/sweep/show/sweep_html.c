// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_html.h"

#include "lib/text/page_style.h"
#include "operator/kinds/sweep/show/sweep_charts.h"
#include "operator/kinds/sweep/show/sweep_front.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;" PAGE_LIGHT
    ";--axis:#9aa7b4;--stopped:#aab4be;--best:#e8710a;--front:#8250c4}"
    "@media(prefers-color-scheme:dark){:root{" PAGE_DARK
    ";--axis:#556270;--stopped:#6b7885;--best:#ff9a3c;--front:#b18be6}}"
    "body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation "
    "Sans',sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;"
    "color:var(--text);background:var(--page);overflow-wrap:anywhere}h1{font-size:1.5rem;margin:0}"
    "h2{font-size:1.05rem;margin:2rem 0 .3rem}p{margin:.3rem "
    "0}.chart{overflow:auto;background:var(--card);border:1px solid var(--line);"
    "border-radius:8px;padding:.7rem 1rem}"
    "svg{width:100%;min-width:40rem;height:auto}path{fill:none;stroke-width:1.3}"
    ".axis{stroke:var(--axis);stroke-width:1}.grid{stroke:var(--line);stroke-width:1}"
    ".running{stroke:var(--busy)}.completed{stroke:var(--done)}"
    ".stopped{stroke:var(--stopped)}.failed{stroke:var(--failed);stroke-dasharray:4 3}"
    ".best{stroke:var(--best);stroke-width:3}.ahead{stroke:var(--axis);stroke-width:1.5}"
    "path:hover{stroke-width:4;stroke-opacity:1}.axis:hover,.grid:hover{stroke-width:1}"
    "circle{stroke:none;fill:var(--done)}circle.running{fill:var(--busy)}"
    "circle.stopped{fill:var(--stopped)}circle.failed{fill:var(--failed)}"
    "circle.best{fill:var(--best)}circle:hover{stroke:var(--text);stroke-width:2}"
    "text{font-size:12px;fill:var(--quiet);paint-order:stroke;stroke:var(--card);stroke-width:3px;"
    "stroke-linejoin:round}"
    ".legend span{white-space:nowrap;margin-right:1.2em}i{display:inline-block;width:1.4em;"
    "height:.25em;margin:0 .4em .25em 0;background:var(--done)}i.running{background:"
    "var(--busy)}i.stopped{background:var(--stopped)}i.failed{background:var(--failed)}"
    "i.best{background:var(--best)}"
    "table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;padding:.15rem .9rem "
    ".15rem 0;border-bottom:1px solid var(--line);white-space:nowrap;font-variant-numeric:"
    "tabular-nums;vertical-align:top}td.why{white-space:normal;min-width:14rem}"
    "tr.best td{font-weight:600}"
    ".front{display:flex;flex-wrap:wrap;gap:.5rem 2rem;align-items:flex-start}"
    ".front .chart{flex:1 1 30rem}.front .list{flex:0 1 auto}.front svg{min-width:26rem}"
    "circle.front{fill:var(--front)}i.front{background:var(--front)}";

const struct sweep_trial *sweep_best(const struct sweep_facts *facts) {
    const struct sweep_trial *best = NULL;
    for (int pass = 0; pass < 2 && !best; pass++) {
        for (size_t i = 0; i < facts->trial_count; i++) {
            const struct sweep_trial *trial = &facts->trials[i];
            if ((pass || trial->state == SWEEP_COMPLETED) &&
                sweep_is_better(facts, trial->best, best ? best->best : (double)NAN)) {
                best = trial;
            }
        }
    }
    return best;
}

/* ---- the page ------------------------------------------------------------------------------- */

static void add_row(struct page *page, const struct sweep_facts *facts,
                    const struct sweep_trial *trial, const struct sweep_trial *best) {
    page_add(page, trial == best ? "<tr class=\"best\"><td>" : "<tr><td>");
    page_text(page, trial->name, SWEEP_NAME_MAX_BYTES);
    page_add(page, "</td><td><i class=\"%s\"></i>%s</td><td>", sweep_class(trial, best),
             sweep_class(trial, NULL));
    if (isfinite(trial->best)) {
        page_add(page, "%.6g", trial->best);
    }
    page_add(page, "</td><td>");
    page_count(page, trial->reports);
    for (size_t k = 0; k < facts->parameter_count; k++) {
        char text[SWEEP_SHORT_MAX];
        const char *value = trial->values ? trial->values[k] : "";
        page_add(page, "</td><td title=\"");
        page_text(page, value, SWEEP_NAME_MAX_BYTES);
        page_add(page, "\">");
        page_text(page, sweep_short(value, SWEEP_DIGITS, text), SWEEP_NAME_MAX_BYTES);
    }
    page_add(page, "</td><td class=\"why\">");
    page_text(page, trial->message ? trial->message : "", 200);
    page_add(page, "</td></tr>");
}

/* By index; if there are too many, the newest, and the best one first. */
static void add_rows(struct page *page, const struct sweep_facts *facts,
                     const struct sweep_trial *best) {
    size_t count = facts->trial_count;
    size_t first = count > SWEEP_HTML_LINES_MAX ? count - SWEEP_HTML_LINES_MAX : 0;
    page_add(page, "<h2>Trials</h2><div class=\"chart\"><table><thead><tr><th>Trial</th><th>State"
                   "</th><th>");
    page_text(page, facts->metric, SWEEP_NAME_MAX_BYTES);
    page_add(page, "</th><th>Reports</th>");
    for (size_t i = 0; i < facts->parameter_count; i++) {
        page_add(page, "<th>");
        page_text(page, facts->parameters[i], SWEEP_NAME_MAX_BYTES);
        page_add(page, "</th>");
    }
    page_add(page, "<th></th></tr></thead><tbody>");
    if (best && best < facts->trials + first) {
        add_row(page, facts, best, best);
    }
    for (size_t i = first; i < count; i++) {
        add_row(page, facts, &facts->trials[i], best);
    }
    page_add(page, "</tbody></table></div>");
}

/* The states that occur, with their counts. */
static void add_legend(struct page *page, const struct sweep_facts *facts,
                       const struct sweep_trial *best) {
    static const enum sweep_trial_state order[] = {SWEEP_COMPLETED, SWEEP_RUNNING, SWEEP_STOPPED,
                                                   SWEEP_FAILED};
    page_add(page, "<p class=\"legend\">");
    if (best) {
        page_add(page, "<span><i class=\"best\"></i>best</span>");
    }
    if (json_array_size(facts->front) > 0) {
        page_add(page, "<span><i class=\"front\"></i>%zu on the front</span>",
                 json_array_size(facts->front));
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct sweep_trial like = {.state = order[i]};
        const char *name = sweep_class(&like, NULL);
        size_t count = 0;
        for (size_t k = 0; k < facts->trial_count; k++) {
            count += facts->trials[k].state == order[i];
        }
        if (count > 0) {
            page_add(page, "<span><i class=\"%s\"></i>%zu %s</span>", name, count, name);
        }
    }
    page_add(page, "</p>");
}

static void add_head(struct page *page, const struct sweep_facts *facts,
                     const struct sweep_trial *best) {
    page_add(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>" PAGE_POLICY
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
                   "<title>");
    page_text(page, facts->name, SWEEP_NAME_MAX_BYTES);
    page_add(page, "</title><style>");
    for (size_t at = 0, size = strlen(style); at < size; at += 2000) {
        page_add(page, "%.2000s", style + at);
    }
    page_add(page, "</style></head><body><h1>");
    page_text(page, facts->name, SWEEP_NAME_MAX_BYTES);
    page_add(page, "</h1><p>");
    page_text(page, facts->state, SWEEP_NAME_MAX_BYTES);
    page_add(page, ": ");
    page_text(page, facts->message, 400);
    page_add(page, "</p><p>");
    page_text(page, facts->metric, SWEEP_NAME_MAX_BYTES);
    page_add(page, ", %s is better", facts->is_minimized ? "less" : "more");
    if (best) {
        page_add(page, "; the best is %.6g of ", best->best);
        page_text(page, best->name, SWEEP_NAME_MAX_BYTES);
    }
    page_add(page, "</p>");
    add_legend(page, facts, best);
    if (facts->trial_count > SWEEP_HTML_LINES_MAX) {
        page_add(page, "<p>Of %zu trials the newest %d%s are shown.</p>", facts->trial_count,
                 SWEEP_HTML_LINES_MAX,
                 json_array_size(facts->front) ? ", the best and the front" : " and the best");
    }
}

int sweep_html(const struct sweep_facts *facts, char **ret_html, struct error *err) {
    AUTO(page_release) struct page page;
    const struct sweep_trial *best = sweep_best(facts);
    page_init(&page, SWEEP_HTML_MAX);
    add_head(&page, facts, best);
    sweep_front(&page, facts, best);
    sweep_charts(&page, facts, best);
    add_rows(&page, facts, best);
    page_add(&page, "</body></html>\n");
    if (page.err.kind) {
        return error_set(err, page.err.kind, "sweep.html: %s", page.err.text);
    }
    *ret_html = buffer_take(&page.text, NULL);
    return 0;
}
