// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/status_local.h"

#include "lib/time/clock.h"
#include "operator/commands/status/status_job.h"
#include "operator/kinds/kinds.h"
#include "operator/object.h"
#include "operator/show/progress_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 500 };

static int follow(struct job_found *found, struct error *err) {
    struct progress_line progress;
    AUTO(text_freep) char *name = x_strdup(tree_text(found->job, "metadata.name", ""));
    const struct kind_row *row = kinds_of(found->job);
    int64_t age_ms = object_age_ms(found->job, clock_wall_ms());
    progress_line_init(&progress, name, row->unit(found->job), row->read_progress,
                       clock_monotonic_ms() - age_ms);
    while (found->run->is_alive) {
        struct error why = {0};
        progress_line_show(&progress, json_object_get(found->job, "status"), clock_monotonic_ms());
        if (run_list_wait(found->run, LOOK_MS, &why) < 0 && why.kind != ERROR_TIMEOUT) {
            *err = why;
            return -1;
        }
        if (job_found_look_again(found, err) < 0) {
            return -1;
        }
    }
    progress_line_clear(&progress);
    return 0;
}

static void print_run(const struct job_found *found) {
    const json_t *record = found->run->record;
    /* What is kept of the pods of a run that has ended is from before its end. */
    status_job_print(found->job, found->run->is_alive ? json_object_get(record, "pods") : NULL, "");
    const char *table = tree_text(record, "table", ""), *page = tree_text(record, "page", NULL);
    printf("%s%s", *table ? "\n" : "", table);
    printf("  run      %s on this machine\n  logs     %s\n", found->run->id,
           tree_text(record, "state", ""));
    if (page) {
        printf("  page     %s\n", page);
    }
    fflush(stdout);
}

int status_local_show(struct job_found *found, const struct status_request *request, int *ret_code,
                      struct error *err) {
    if (request->output && strcmp(request->output, "html") == 0) {
        return error_set(err, ERROR_INVALID,
                         "-o html is for a job of a cluster; the page of this run is in %s",
                         tree_text(found->run->record, "state", ""));
    }
    if (!kinds_find(tree_text(found->job, "kind", ""))) {
        return error_set(err, ERROR_UNAVAILABLE, "%s has just begun: ask again", found->run->id);
    }
    if (request->watch && follow(found, err) < 0) {
        return -1;
    }
    if (!request->output || strcmp(request->output, "wide") == 0) {
        print_run(found);
    }
    const json_t *condition = object_succeeded(json_object_get(found->job, "status"));
    *ret_code = request->watch && strcmp(tree_text(condition, "status", ""), "True") != 0;
    return 0;
}
