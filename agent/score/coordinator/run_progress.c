// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/run_progress.h"

#include "agent/score/wire/request_metrics.h"
#include "lib/contract.h"
#include "lib/log.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SAMPLE_MS = PROGRESS_WINDOW_MS / 32,
    SAMPLES_KEPT = 4, /* samples that are kept even if they are old */
    TROUBLE_MS = 5000,
};

static const char *const state_names[] = {"Listing", "Running", "Joining", "Succeeded", "Failed"};
static_assert(ARRAY_LEN(state_names) == PROGRESS_STATE_COUNT, "one name per state");

void run_progress_init(struct run_progress *progress) {
    *progress = (struct run_progress){.started_ms = -1, .ended_ms = -1};
    commit_trouble_init(&progress->trouble);
}

void run_progress_release(struct run_progress *progress) {
    commit_trouble_release(&progress->trouble);
    tree_freep(&progress->lost);
    tree_freep(&progress->metrics);
    tree_freep(&progress->connected);
    tree_freep(&progress->retired);
}

const char *run_progress_state_name(enum run_progress_state state) {
    return state_names[state];
}

static void drop_oldest(struct run_progress *progress) {
    memmove(progress->samples, progress->samples + 1,
            (size_t)--progress->sample_count * sizeof *progress->samples);
}

void run_progress_start(struct run_progress *progress, int64_t now_ms) {
    if (progress->started_ms < 0) {
        progress->started_ms = progress->ended_ms = now_ms;
        progress->samples[0] = (struct run_progress_sample){now_ms, progress->items_before};
        progress->sample_count = 1;
    }
}

void run_progress_add(struct run_progress *progress, int64_t items, int64_t now_ms) {
    run_progress_start(progress, now_ms);
    if (items < progress->samples[progress->sample_count - 1].items) {
        progress->items_before = items;
        progress->started_ms = -1;
        run_progress_start(progress, now_ms);
    }
    struct run_progress_sample *last = &progress->samples[progress->sample_count - 1];
    progress->ended_ms = now_ms;
    /* Results that come close together share a sample; the very first marks the start. */
    if (progress->sample_count > 1 && now_ms - last[-1].time_ms < SAMPLE_MS) {
        *last = (struct run_progress_sample){now_ms, items};
        return;
    }
    while (progress->sample_count == PROGRESS_SAMPLES ||
           (progress->sample_count > SAMPLES_KEPT &&
            progress->samples[0].time_ms < now_ms - PROGRESS_WINDOW_MS)) {
        drop_oldest(progress);
    }
    progress->samples[progress->sample_count++] = (struct run_progress_sample){now_ms, items};
}

static double rate_between(int64_t items, int64_t from_ms, int64_t to_ms) {
    return to_ms > from_ms ? (double)items * 1000 / (double)(to_ms - from_ms) : 0;
}

double run_progress_rate(const struct run_progress *progress, int64_t now_ms) {
    if (progress->sample_count < 2) {
        return 0;
    }
    const struct run_progress_sample *first = progress->samples;
    const struct run_progress_sample *last = first + progress->sample_count - 1;
    if (progress->state != PROGRESS_RUNNING) {
        return rate_between(last->items - progress->items_before, progress->started_ms,
                            progress->ended_ms);
    }
    /* Between two results the rate is constant; it falls when the next result is overdue. */
    int64_t usual_ms = (last->time_ms - first->time_ms) / (progress->sample_count - 1);
    int64_t to_ms = MAX(last->time_ms, now_ms - usual_ms);
    return rate_between(last->items - first->items, first->time_ms, to_ms);
}

void run_progress_format_rate(double rate, char text[static 32]) {
    snprintf(text, 32, rate >= 100 ? "%.0f" : rate >= 1 || rate == 0 ? "%.1f" : "%.3f", rate);
}

static json_t *count_json(const struct ledger_count *count) {
    return json_pack("{s:I,s:I,s:I,s:I}", "total", (json_int_t)count->total, "done",
                     (json_int_t)count->done, "failed", (json_int_t)count->failed, "retried",
                     (json_int_t)count->retried);
}

static json_t *items_json(const struct run_progress *progress, const struct ledger_count *count) {
    struct ledger_count all = *count;
    all.total += progress->items_kept;
    all.done += progress->items_kept;
    json_t *tree = count_json(&all);
    if (progress->items_kept > 0) {
        json_object_set_new(tree, "kept", json_integer(progress->items_kept));
    }
    if (progress->items_left_out > 0) {
        json_object_set_new(tree, "leftOut", json_integer(progress->items_left_out));
    }
    return tree;
}

void run_progress_lose(struct run_progress *progress, const json_t *lost) {
    size_t i;
    const json_t *row;
    if (json_equal(lost, progress->lost)) {
        return;
    }
    tree_freep(&progress->lost);
    progress->lost = json_deep_copy(lost);
    json_array_foreach(lost, i, row) {
        log_event(LOG_WARNING, "the output will lack: %s: %s", tree_text(row, "what", ""),
                  tree_text(row, "why", ""));
    }
}

void run_progress_tell_trouble(struct run_progress *progress, int64_t now_ms) {
    struct error why;
    char message[sizeof progress->message] = "";
    bool is_reported = text_starts(progress->message, CONTRACT_WAITS);
    if (commit_trouble_find(&progress->trouble, now_ms, &why) >= TROUBLE_MS) {
        snprintf(message, sizeof message, CONTRACT_WAITS "%.400s", why.text);
        utf8_make_line(message); /* the text may have been cut within a character */
        if (strcmp(message, progress->message) != 0) {
            log_event(LOG_WARNING, "%s", message);
            memcpy(progress->message, message, sizeof message);
        }
    } else if (is_reported) { /* other messages stay, such as what a rerun has found */
        log_event(LOG_INFO, "the output's storage works again");
        snprintf(progress->message, sizeof progress->message, "%s", progress->rerun);
    }
}

void run_progress_lose_also(struct run_progress *progress, const char *what, const char *why) {
    progress->lost = progress->lost ? progress->lost : json_array();
    if (!tree_find(progress->lost, "what", what)) {
        json_array_append_new(progress->lost, json_pack("{s:s,s:s}", "what", what, "why", why));
        log_event(LOG_WARNING, "the output will lack: %s: %s", what, why);
    }
}

/* The metrics with one entry for all that are not connected; the caller owns it. */
static json_t *fold_gone(const struct run_progress *progress, bool keeps_connected) {
    struct request_metrics gone = {0};
    AUTO(tree_freep) json_t *connected = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(progress->connected, name, value) {
        const char *process = json_string_value(value);
        json_object_set(connected, process, json_object_get(progress->metrics, process));
    }
    json_object_foreach(progress->metrics, name, value) {
        if (!json_object_get(connected, name)) {
            request_metrics_sum(&gone, value);
        }
    }
    json_t *folded = keeps_connected ? TAKE(connected) : json_object();
    json_object_set_new(folded, "gone", request_metrics_json(&gone));
    return folded;
}

static void set_metrics(struct run_progress *progress, const char *process, const json_t *metrics) {
    enum { PROCESSES_MAX = 10000 };
    progress->metrics = progress->metrics ? progress->metrics : json_object();
    bool is_new = !json_object_get(progress->metrics, process);
    if (is_new && json_object_size(progress->metrics) >= PROCESSES_MAX) {
        json_t *folded = fold_gone(progress, /* keeps_connected= */ true);
        json_decref(progress->metrics);
        progress->metrics = folded;
    }
    if (!is_new || json_object_size(progress->metrics) < PROCESSES_MAX) {
        json_object_set_new(progress->metrics, process, json_deep_copy(metrics));
    } else if (!progress->lacks_metrics) {
        progress->lacks_metrics = true;
        log_event(LOG_WARNING, "status.requests counts the requests of %d workers only",
                  PROCESSES_MAX);
    }
}

void run_progress_metrics(struct run_progress *progress, const char *worker,
                          const json_t *metrics) {
    if (!metrics) {
        return;
    }
    AUTO(text_freep)
    char *process = x_printf("%s %lld", worker, (long long)tree_integer(metrics, "began", 0));
    progress->connected = progress->connected ? progress->connected : json_object();
    json_object_set_new(progress->connected, worker, json_string(process));
    set_metrics(progress, process, metrics);
}

void run_progress_gone(struct run_progress *progress, const char *worker) {
    json_object_del(progress->connected, worker);
}

static bool fits(const json_t *metrics, size_t most) {
    return json_dumpb(metrics, NULL, 0, JSON_COMPACT) <= most;
}

json_t *run_progress_requests(const struct run_progress *progress, size_t most) {
    if (!progress->metrics || fits(progress->metrics, most)) {
        return json_deep_copy(progress->metrics);
    }
    AUTO(tree_freep) json_t *folded = fold_gone(progress, /* keeps_connected= */ true);
    return fits(folded, most) ? json_deep_copy(folded)
                              : fold_gone(progress, /* keeps_connected= */ false);
}

static struct request_metrics sum_metrics(const struct run_progress *progress) {
    struct request_metrics sum = {0};
    const char *name;
    json_t *metrics;
    json_object_foreach(progress->metrics, name, metrics) {
        request_metrics_sum(&sum, metrics);
    }
    return sum;
}

static int64_t tokens_of(const struct request_metrics *sum) {
    return sum->counts[REQUESTS_TOKENS_IN] + sum->counts[REQUESTS_TOKENS_OUT];
}

void run_progress_recall(struct run_progress *progress, const json_t *metrics) {
    const char *process;
    json_t *told;
    json_object_foreach((json_t *)(uintptr_t)metrics, process, told) {
        if (request_metrics_is_json(told)) {
            set_metrics(progress, process, told);
        }
    }
    struct request_metrics sum = sum_metrics(progress);
    progress->tokens_before = tokens_of(&sum);
}

int64_t run_progress_latency_ms(const struct run_progress *progress, double share) {
    struct request_metrics sum = sum_metrics(progress);
    return request_metrics_quantile_ms(&sum, share);
}

/* Money is a text: Kubernetes advises against floating point numbers. */
static void add_money(json_t *requests, const char *name, double money) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", money);
    json_object_set_new(requests, name, json_string(text));
}

static json_t *requests_json(const struct run_progress *progress, int64_t rows, int64_t now_ms) {
    struct request_metrics sum = sum_metrics(progress);
    json_t *requests = json_object();
    for (int i = 0; i < REQUESTS_COUNTS; i++) {
        json_object_set_new(requests, request_metrics_names[i], json_integer(sum.counts[i]));
    }
    json_object_set_new(requests, "medianMilliseconds",
                        json_integer(request_metrics_quantile_ms(&sum, 0.5)));
    json_object_set_new(requests, "p99Milliseconds",
                        json_integer(request_metrics_quantile_ms(&sum, 0.99)));
    bool is_over = progress->state > PROGRESS_RUNNING;
    double seconds =
        (double)((is_over ? progress->ended_ms : now_ms) - progress->started_ms) / 1000;
    int64_t tokens = tokens_of(&sum) - progress->tokens_before;
    if (progress->started_ms >= 0 && seconds > 0) {
        json_object_set_new(requests, "tokensPerSecond",
                            json_integer((json_int_t)((double)tokens / seconds)));
    }
    if (progress->prices) {
        double in = json_number_value(json_object_get(progress->prices, "perMillionInputTokens"));
        double out = json_number_value(json_object_get(progress->prices, "perMillionOutputTokens"));
        double gpu = json_number_value(json_object_get(progress->prices, "perGpuHour"));
        double money = ((double)sum.counts[REQUESTS_TOKENS_IN] * in +
                        (double)sum.counts[REQUESTS_TOKENS_OUT] * out) /
                           1e6 +
                       (double)sum.counts[REQUESTS_GPU_SECONDS] * gpu / 3600;
        add_money(requests, "cost", money);
        add_money(requests, "costPer1000", rows > 0 ? money * 1000 / (double)rows : 0);
    }
    return requests;
}

json_t *run_progress_json(const struct run_progress *progress, const struct ledger_counts *counts,
                          int64_t now_ms) {
    static const struct ledger_counts none;
    counts = counts ? counts : &none;
    double rate = run_progress_rate(progress, now_ms);
    char rate_text[32];
    run_progress_format_rate(rate, rate_text);
    json_t *tree = json_object();
    json_object_set_new(tree, "state", json_string(run_progress_state_name(progress->state)));
    json_object_set_new(tree, "message", json_string(progress->message));
    json_object_set_new(tree, "miniBatches", count_json(&counts->cells));
    json_object_set_new(tree, "items", items_json(progress, &counts->items));
    json_object_set_new(tree, "workers", json_integer(counts->workers));
    json_object_set_new(tree, "itemsPerSecond", json_string(rate_text));
    int64_t left = counts->items.total - counts->items.done - counts->items.failed;
    bool over = progress->state > PROGRESS_RUNNING;
    if (over || (rate > 0 && (double)left / rate < 1e9)) {
        json_object_set_new(tree, "secondsLeft",
                            json_integer(over ? 0 : (json_int_t)ceil((double)left / rate)));
    }
    json_object_set_new(tree, "outputs",
                        progress->outputs ? json_deep_copy(progress->outputs) : json_array());
    if (progress->metrics) {
        json_object_set_new(tree, "requests", requests_json(progress, counts->items.done, now_ms));
    }
    if (json_array_size(progress->lost) > 0) {
        json_object_set_new(tree, "lost", json_deep_copy(progress->lost));
    }
    if (progress->knows_storage) { /* shows the operator whether it may replace us while we may be
                                      alive */
        json_object_set_new(tree, "exclusive", json_boolean(progress->excludes));
    }
    if (progress->summary) {
        json_object_set_new(tree, "summary", json_string(progress->summary));
    }
    return tree;
}

void run_progress_add_log(const struct run_progress *progress, json_t *tree) {
    if (*progress->failed_log) {
        json_object_set_new(tree, "failedLog", json_string(progress->failed_log));
    }
}
