// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_series.h"

#include "lib/time/clock.h"
#include "operator/local/local.h"
#include "operator/object.h"
#include "operator/show/shown_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void run_series_clear(struct run_series *series) {
    progress_line_clear(&series->progress);
}

void run_series_release(struct run_series *series) {
    json_decref(series->printed);
    free(series->shown);
    free(series->waits);
}

static void print_end(struct run_series *series, const json_t *run) {
    const char *name = tree_text(run, "metadata.name", "");
    const json_t *status = json_object_get(run, "status");
    int64_t start_ms = clock_parse(tree_text(status, "startTime", ""));
    int64_t end_ms = clock_parse(tree_text(status, "completionTime", ""));
    struct ending ending = series->ending;
    ending.name = name;
    ending.spec = json_object_get(run, "spec");
    ending.status = status;
    ending.elapsed_ms = MAX(end_ms - start_ms, 1000); /* times have a resolution of one second */
    run_series_clear(series);
    ending_print(&ending);
    json_object_set_new(series->printed, name, json_true());
}

static void show_run(struct run_series *series, const json_t *run, int64_t now_ms) {
    const char *name = tree_text(run, "metadata.name", "");
    if (!series->shown || strcmp(series->shown, name) != 0) {
        run_series_clear(series);
        free(series->shown);
        series->shown = x_strdup(name);
        progress_line_init(&series->progress, series->shown, series->ending.unit, series->read,
                           now_ms);
    }
    progress_line_show(&series->progress, json_object_get(run, "status"), now_ms);
}

/* Prints the reason for waiting once for each due time. */
static void print_waiting(struct run_series *series, const json_t *job) {
    AUTO(tree_freep)
    json_t *condition = shown_tree(object_succeeded(json_object_get(job, "status")));
    const char *reason = tree_text(condition, "reason", "");
    const char *message = tree_text(condition, "message", "");
    static const char *const passing[] = {"", "Pending", "Running"};
    for (size_t i = 0; i < ARRAY_LEN(passing); i++) {
        if (strcmp(reason, passing[i]) == 0) {
            return;
        }
    }
    if (!series->waits || strcmp(series->waits, message) != 0) {
        free(series->waits);
        series->waits = x_strdup(message);
        run_series_clear(series);
        fprintf(stderr, "%s: %s: %s\n", tree_text(job, "metadata.name", ""), reason, message);
    }
}

void run_series_show(struct run_series *series, const struct cluster *cluster,
                     const struct cache *cache, const json_t *job, int64_t now_ms) {
    const char *kind = tree_text(job, "kind", "");
    AUTO(tree_freep) json_t *runs = cache_owned(cache, kind, job);
    bool is_waiting = true;
    if (!series->printed) {
        series->printed = json_object();
    }
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const char *name = tree_text(json_array_get(runs, i), "metadata.name", "");
        const json_t *run =
            local_find(cluster, kind, tree_text(job, "metadata.namespace", "default"), name);
        if (!run || json_object_get(series->printed, name)) {
            continue;
        }
        if (ending_is_final(json_object_get(run, "status"))) {
            print_end(series, run);
        } else {
            show_run(series, run, now_ms);
            is_waiting = false;
        }
    }
    if (is_waiting) {
        print_waiting(series, job);
    }
}
