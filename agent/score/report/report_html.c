// SPDX-License-Identifier: Apache-2.0
/* report.html: one self-contained page without scripts, fonts or external pictures; its content
 * policy forbids loading any. It is also XML, so that a parser can check it. */
#include "agent/score/report/report.h"
#include "agent/score/report/report_chart.h"
#include "agent/score/report/report_requests.h"
#include "agent/score/report/report_style.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 120, /* shown bytes of a name */
    MESSAGE_BYTES = 1000,
    CAUSES_SHOWN = 20,
    SLOWEST_SHOWN = 10,
    FAILURES_SHOWN = 50,
    WORKERS_SHOWN = 40, /* if there are more: those with the smallest busy share */
};

struct report {
    struct page *page;
    const struct facts *facts;
    const struct report_options *options;
};

static int slots_of(const struct report *report) {
    return MAX(report->options->slots, 1);
}

/* The known number of the job's items. */
static int64_t total_of(const struct report *report) {
    return MAX(report->options->items, report->facts->items);
}

static int64_t done_of(const struct report *report) {
    return report->facts->items - report->facts->failed_items;
}

static int64_t elapsed_ms(const struct report *report) {
    const struct report_options *options = report->options;
    return options->started_wall_ms && options->completed_wall_ms > options->started_wall_ms
               ? options->completed_wall_ms - options->started_wall_ms
               : report->facts->end_ms;
}

static void add_worker(const struct report *report, int worker) {
    page_add(report->page, "<td class=\"name\">");
    page_text(report->page, worker < 0 ? "" : report->facts->workers[worker].name, NAME_BYTES);
    page_add(report->page, "</td>");
}

static void add_number(const struct report *report, int64_t number) {
    page_add(report->page, "<td class=\"n\">");
    page_count(report->page, number);
    page_add(report->page, "</td>");
}

static void add_time(const struct report *report, int64_t ms) {
    page_add(report->page, "<td class=\"n\">");
    page_time(report->page, ms);
    page_add(report->page, "</td>");
}

/* ---- head ----------------------------------------------------------------------------------- */

static void add_head(const struct report *report) {
    struct page *page = report->page;
    const struct report_options *options = report->options;
    page_add(page,
             "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head>"
             "<meta charset=\"utf-8\"/>" PAGE_POLICY "<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\"/><meta name=\"color-scheme\" "
             "content=\"light dark\"/>\n<title>");
    page_text(page, options->job, NAME_BYTES);
    page_add(page, ": ");
    page_text(page, options->state, NAME_BYTES);
    page_add(page, "</title>\n<style>");
    for (size_t i = 0; report_style[i]; i++) {
        page_add(page, "%s", report_style[i]);
    }
    page_add(page, "</style></head>\n<body><main>\n<header><p class=\"job\">");
    if (options->name_space && *options->name_space) {
        page_text(page, options->name_space, NAME_BYTES);
        page_add(page, " / ");
    }
    page_text(page, options->job, NAME_BYTES);
    page_add(page, "</p><h1 class=\"%s\">", options->is_failed ? "bad" : "good");
    page_text(page, options->state, NAME_BYTES);
    page_add(page, "</h1>");
    if (*options->message) {
        page_add(page, "<p class=\"message\">");
        page_text(page, options->message, MESSAGE_BYTES);
        page_add(page, "</p>");
    }
    page_add(page, "</header>\n");
}

static void open_tile(struct page *page, const char *name, const char *class) {
    page_add(page, "<div class=\"tile\"><dt>%s</dt><dd class=\"big%s\">", name, class);
}

static void add_count_tiles(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    open_tile(page, "Done", "");
    page_count(page, done_of(report));
    page_add(page, "</dd><dd>of ");
    page_count(page, total_of(report));
    page_add(page, " %s", report->options->unit);
    if (total_of(report) > 0) {
        page_add(page, ", ");
        page_percent(page, (double)done_of(report) / (double)total_of(report));
    }
    page_add(page, "</dd></div>");

    open_tile(page, "Failed", facts->failed_items ? " bad" : "");
    page_count(page, facts->failed_items);
    page_add(page, "</dd><dd>");
    if (facts->failed_items) {
        int64_t batches = facts->failed_batches + facts->partial_batches;
        page_add(page, "in ");
        page_count(page, batches);
        page_add(page, batches == 1 ? " mini-batch" : " mini-batches");
    } else {
        page_add(page, "%s", report->options->unit);
    }
    page_add(page, "</dd></div>");
}

static void add_time_tiles(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    const struct report_options *options = report->options;
    open_tile(page, "Time", "");
    page_time(page, elapsed_ms(report));
    page_add(page, "</dd><dd>");
    if (options->started_wall_ms) {
        char text[21];
        clock_format(options->started_wall_ms, text);
        page_add(page, "from %.10s %.5s UTC", text, text + 11);
    } else {
        page_add(page, "of work");
    }
    page_add(page, "</dd></div>");

    open_tile(page, "Speed", "");
    int64_t ms = elapsed_ms(report);
    page_rate(page, ms > 0 ? (double)done_of(report) * 1000 / (double)ms : 0);
    page_add(page, "/s</dd><dd>%s</dd></div>", options->unit);

    open_tile(page, "Mini-batches", "");
    page_count(page, facts->batches);
    page_add(page, "</dd><dd>");
    if (facts->duration_count) {
        page_time(page, facts_quantile_ms(facts, 0.5));
        page_add(page, " each (median)");
    }
    page_add(page, "</dd></div>");
}

/* The time of all workers. */
struct hours {
    double busy_ms, idle_ms, after_ms, share; /* share: busy / (busy + idle) */
};

static struct hours hours_of(const struct report *report) {
    struct hours hours = {.share = 1};
    for (int i = 0; i < report->facts->worker_count; i++) {
        const struct facts_worker *worker = &report->facts->workers[i];
        hours.busy_ms += (double)worker->busy_ms;
        hours.idle_ms += (double)facts_idle_ms(worker, slots_of(report));
        hours.after_ms += (double)facts_after_ms(worker, slots_of(report));
    }
    if (hours.busy_ms + hours.idle_ms > 0) {
        hours.share = hours.busy_ms / (hours.busy_ms + hours.idle_ms);
    }
    return hours;
}

static void add_worker_tile(const struct report *report) {
    struct page *page = report->page;
    open_tile(page, "Workers", "");
    page_count(page, report->facts->worker_count);
    page_add(page, "</dd><dd>");
    if (report->facts->worker_count) {
        page_percent(page, hours_of(report).share);
        page_add(page, " busy");
    }
    page_add(page, "</dd></div>");
}

/* ---- failures ------------------------------------------------------------------------------- */

static void add_causes(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    page_add(page,
             "<div class=\"scroll\"><table><thead><tr><th class=\"n\">%s</th><th "
             "class=\"n\">mini-batches</th><th>cause, numbers may differ</th><th "
             "class=\"n\">first mini-batch</th></tr></thead><tbody>",
             report->options->unit);
    int64_t left = facts->other_cause_items;
    int others = 0;
    for (int i = 0; i < facts->cause_count; i++) {
        const struct facts_cause *cause = &facts->causes[i];
        if (i >= CAUSES_SHOWN) {
            left += cause->items;
            others++;
            continue;
        }
        page_add(page, "<tr>");
        add_number(report, cause->items);
        add_number(report, cause->batches);
        page_add(page, "<td class=\"cause\">");
        page_text(page, cause->cause, FACTS_CAUSE_BYTES);
        page_add(page, "</td>");
        add_number(report, cause->example);
        page_add(page, "</tr>");
    }
    if (left > 0) {
        page_add(page, "<tr>");
        add_number(report, left);
        page_add(page, "<td></td><td>other causes (%s%d of them)</td><td></td></tr>",
                 facts->other_cause_items ? "at least " : "",
                 others + (facts->other_cause_items != 0));
    }
    page_add(page, "</tbody></table></div>");
}

static void add_failures(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    int64_t all = facts->failed_batches + facts->partial_batches;
    if (all == 0) {
        return;
    }
    page_add(page, "<section><h2>Why %s failed</h2>", report->options->unit);
    add_causes(report);
    int shown = MIN(facts->failure_count, FAILURES_SHOWN);
    page_add(page, "<details%s><summary>The %s%d mini-batches with failures</summary>",
             all <= 10 ? " open=\"open\"" : "", all > shown ? "first " : "", shown);
    page_add(page, "<div class=\"scroll\"><table><thead><tr><th class=\"n\">mini-batch</th><th "
                   "class=\"n\">failed</th><th class=\"n\">of</th><th "
                   "class=\"n\">tries</th><th>worker</th><th>cause</th></tr></thead><tbody>");
    for (int i = 0; i < shown; i++) {
        const struct facts_failure *failure = &facts->failures[i];
        page_add(page, "<tr>");
        add_number(report, failure->first);
        add_number(report, failure->failed);
        add_number(report, failure->items);
        add_number(report, failure->try);
        add_worker(report, failure->worker);
        page_add(page, "<td class=\"cause\">");
        page_text(page, failure->cause, FACTS_CAUSE_BYTES);
        page_add(page, "</td></tr>");
    }
    page_add(page, "</tbody></table></div></details><p class=\"note\">Every failed item, with its "
                   "cause: failed.jsonl next to this page.</p></section>\n");
}

/* ---- time ----------------------------------------------------------------------------------- */

static void add_charts(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    page_add(page,
             "<section><h2>Progress</h2><figure><figcaption><i class=\"key done\"></i> %s "
             "done",
             report->options->unit);
    if (facts->failed_items) {
        page_add(page, " <i class=\"key failed\"></i> failed");
    }
    page_add(page, "</figcaption>");
    chart_progress(page, facts, total_of(report));
    page_add(page,
             "</figure><div class=\"two\"><figure><figcaption><i class=\"key done\"></i> %s "
             "a second <i class=\"key mean\"></i> mean</figcaption>",
             report->options->unit);
    chart_rate(page, facts, report->options->unit);
    page_add(page, "</figure><figure><figcaption><i class=\"key busy\"></i> mini-batches at the "
                   "same time</figcaption>");
    chart_busy(page, facts);
    page_add(page, "</figure></div>");
    if (facts->epoch_count > 1) {
        page_add(page, "<p class=\"note\">The coordinator was restarted ");
        page_count(page, facts->epoch_count - 1);
        page_add(page, facts->epoch_count == 2 ? " time" : " times");
        page_add(page, " (dashed lines); the time between is not counted.</p>");
    }
    page_add(page, "</section>\n");
}

static void add_quantiles(const struct report *report) {
    static const struct {
        const char *name;
        double share;
    } rows[] = {{"half", 0.5}, {"95 %", 0.95}, {"99 %", 0.99}};
    struct page *page = report->page;
    page_add(page, "<p>");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        page_add(page, "%s within <b>", i ? rows[i].name : "Half");
        page_time(page, facts_quantile_ms(report->facts, rows[i].share));
        page_add(page, "</b>, ");
    }
    page_add(page, "the slowest took <b>");
    page_time(page, report->facts->slowest_ms);
    page_add(page, "</b>.");
    const int64_t *tries = report->facts->tries;
    int64_t again = 0;
    for (int i = 1; i < FACTS_TRIES; i++) {
        again += tries[i];
    }
    if (again) {
        page_add(page, " <b>");
        page_count(page, again);
        page_add(page, "</b> needed more than one try.");
    }
    page_add(page, "</p>");
}

static void add_slowest(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    page_add(page, "<section><h2>How long mini-batches took</h2><div class=\"two\"><div>");
    add_quantiles(report);
    page_add(page, "<figure><figcaption><i class=\"key bar\"></i> mini-batches by their time "
                   "(logarithmic)</figcaption>");
    chart_durations(page, facts);
    page_add(page,
             "</figure></div><div class=\"scroll\"><table><caption>The slowest</caption>"
             "<thead><tr><th class=\"n\">mini-batch</th><th class=\"n\">time</th><th "
             "class=\"n\">%s</th><th class=\"n\">try</th><th>worker</th></tr></thead><tbody>",
             report->options->unit);
    for (int i = 0; i < MIN(facts->slowest_count, SLOWEST_SHOWN); i++) {
        const struct facts_slow *slow = &facts->slowest[i];
        page_add(page, "<tr>");
        add_number(report, slow->first);
        add_time(report, slow->took_ms);
        add_number(report, slow->items);
        add_number(report, slow->try);
        add_worker(report, slow->worker);
        page_add(page, "</tr>");
    }
    page_add(page, "</tbody></table></div></div></section>\n");
}

/* ---- workers -------------------------------------------------------------------------------- */

struct place {
    const struct facts_worker *worker;
    double share;
};

static int by_name(const void *a, const void *b) {
    return strverscmp(((const struct place *)a)->worker->name,
                      ((const struct place *)b)->worker->name);
}

static int by_share(const void *a, const void *b) {
    const struct place *one = a, *other = b;
    if (one->share < other->share || one->share > other->share) {
        return one->share < other->share ? -1 : 1;
    }
    return by_name(a, b);
}

/* Hidden on narrow screens. */
static void add_spare_time(const struct report *report, int64_t ms) {
    page_add(report->page, "<td class=\"n spare\">");
    page_time(report->page, ms);
    page_add(report->page, "</td>");
}

static void add_worker_row(const struct report *report, const struct place *place) {
    struct page *page = report->page;
    const struct facts_worker *worker = place->worker;
    page_add(page, "<tr><td class=\"name\">");
    page_text(page, worker->name, NAME_BYTES);
    page_add(page, "</td>");
    add_number(report, worker->items);
    page_add(page, "<td class=\"n%s\">", worker->failed_items ? " bad" : "");
    page_count(page, worker->failed_items);
    page_add(page, "</td><td class=\"n\">");
    page_percent(page, place->share);
    page_add(page, "</td>");
    add_spare_time(report, facts_idle_ms(worker, slots_of(report)));
    add_spare_time(report, facts_after_ms(worker, slots_of(report)));
    page_add(page, "<td class=\"over\">");
    chart_strip(page, report->facts, worker, slots_of(report));
    page_add(page, "</td></tr>");
}

static void add_hours(const struct report *report) {
    struct page *page = report->page;
    struct hours hours = hours_of(report);
    page_add(page, "<p>From the first to the last mini-batch of each, <b>");
    page_percent(page, hours.share);
    page_add(page, "</b> busy and <b>");
    page_percent(page, 1 - hours.share);
    page_add(page, "</b> idle. After that a worker waited <b>");
    page_time(page,
              (int64_t)(hours.after_ms / MAX(report->facts->worker_count, 1) / slots_of(report)));
    page_add(page, "</b> for the others, on average.</p>");
}

static void add_worker_note(const struct report *report, bool is_cut) {
    struct page *page = report->page;
    page_add(page, "<p class=\"note\">");
    if (is_cut) {
        page_add(page, "Of ");
        page_count(page, report->facts->worker_count);
        page_add(page, " workers, the %d least busy; all of them: workers.csv next to this page. ",
                 WORKERS_SHOWN);
    }
    if (report->facts->uncounted) {
        page_add(page, "Mini-batches of workers that are not listed here: ");
        page_count(page, report->facts->uncounted);
        page_add(page, ". ");
    }
    page_add(page,
             "Busy: the time of its mini-batches, of the time from its first to its last one");
    if (slots_of(report) > 1) {
        page_add(page, ", in all of its %d slots", slots_of(report));
    }
    page_add(page, ". Idle: the rest of that time. After: from its last one until the whole job's. "
                   "Failed tries that were repeated count as idle.</p>");
}

static void add_workers(const struct report *report) {
    struct page *page = report->page;
    const struct facts *facts = report->facts;
    size_t count = (size_t)facts->worker_count;
    struct place *places = x_calloc(MAX(count, 1), sizeof *places);
    int64_t shares[10] = {0};
    for (size_t i = 0; i < count; i++) {
        double share = facts_busy_share(&facts->workers[i], slots_of(report));
        places[i] = (struct place){&facts->workers[i], share};
        shares[MAX(0, MIN((int)(share * 10), 9))]++;
    }
    bool is_cut = count > WORKERS_SHOWN;
    qsort(places, count, sizeof *places, is_cut ? by_share : by_name);
    page_add(page, "<section><h2>Workers</h2>");
    add_hours(report);
    if (is_cut) {
        page_add(page, "<figure class=\"half\"><figcaption><i class=\"key bar\"></i> workers by "
                       "their busy share"
                       "</figcaption>");
        chart_shares(page, shares);
        page_add(page, "</figure>");
    }
    page_add(
        page,
        "<div class=\"scroll\"><table class=\"workers\"><thead><tr><th>worker</th><th "
        "class=\"n\">%s</th><th class=\"n\">failed</th><th class=\"n\">busy</th><th "
        "class=\"n spare\">idle</th><th class=\"n spare\">after</th><th class=\"over\">busy over "
        "time</th></tr></thead><tbody>",
        report->options->unit);
    for (size_t i = 0; i < MIN(count, (size_t)WORKERS_SHOWN); i++) {
        add_worker_row(report, &places[i]);
    }
    page_add(page, "</tbody></table></div>");
    add_worker_note(report, is_cut);
    page_add(page, "</section>\n");
    free(places);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void add_foot(const struct report *report) {
    struct page *page = report->page;
    page_add(page, "<footer><p>Run <code>");
    page_text(page, report->options->run, NAME_BYTES);
    page_add(page,
             "</code>, made by Windlass " WINDLASS_VERSION " from the commits of this run. "
             "Next to this page: summary.json, mini_batches.csv (each mini-batch), workers.csv, "
             "failed.jsonl.</p></footer>\n</main></body></html>\n");
}

int report_page(struct buffer *buffer, const struct facts *facts,
                const struct report_options *options, struct error *err) {
    AUTO(page_release) struct page page;
    page_init(&page, REPORT_PAGE_MAX);
    struct report report = {.page = &page, .facts = facts, .options = options};
    add_head(&report);
    page_add(&page, "<dl class=\"tiles\">");
    add_count_tiles(&report);
    add_time_tiles(&report);
    add_worker_tile(&report);
    page_add(&page, "</dl>\n");
    add_failures(&report);
    report_pictures_add(&page, options->pictures);
    report_requests_add(&page, options->requests);
    if (facts->batches > 0) {
        add_charts(&report);
        add_slowest(&report);
        add_workers(&report);
    } else {
        page_add(&page, "<section><p>No mini-batch was scored.</p></section>\n");
    }
    add_foot(&report);
    if (page.err.kind) {
        *err = page.err;
        return error_context(err, "report.html");
    }
    return buffer_append(buffer, page.text.data, page.text.size, err);
}
