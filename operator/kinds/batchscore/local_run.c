// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/local_run.h"

#include "lib/contract.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/batchscore/endpoint/server_pod.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/job/spec.h"
#include "operator/object.h"
#include "operator/show/shown_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t batchscore_fit(json_t *spec, int64_t asked, int processors) {
    json_t *workers = tree_get(spec, "workers");
    if (!workers) {
        workers = json_object();
        json_object_set_new(spec, "workers", workers);
    }
    int64_t count = asked == KIND_UNSET
                        ? MIN(tree_integer(workers, "max", processors), (int64_t)processors)
                        : asked;
    count = MAX(count, (int64_t)1);
    json_object_set_new(workers, "max", json_integer(count));
    json_object_set_new(workers, "min", json_integer(count));
    json_object_del(spec, "queue"); /* pods go at once here */
    return count;
}

/* The driver's device files: on Linux, and in WSL 2. */
static bool has_gpu(void) {
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

bool batchscore_fit_gpus(json_t *spec, int64_t asked, size_t there, const char *job) {
    int64_t wanted = tree_integer(spec, "workers.gpus", 0), gpus = wanted;
    if (asked != KIND_UNSET) {
        gpus = asked;
    } else if (gpus > 0 && tree_get(spec, "scorer.onnx") && !has_gpu()) {
        fprintf(stderr,
                "windlass: %s: spec.workers.gpus is %lld, and this machine has no NVIDIA GPU with "
                "a driver (no /dev/nvidiactl): its processors score, in FP32 (--gpus %lld: try all "
                "the same)\n",
                job, (long long)gpus, (long long)gpus);
        gpus = 0;
    }
    int64_t workers = tree_integer(spec, "workers.max", -1);
    bool is_enough = gpus > 0 && workers * gpus <= (int64_t)there;
    if (gpus > 0 && workers > 1 && !is_enough) {
        char have[40] = "";
        if (there > 0) {
            snprintf(have, sizeof have, "it has %zu; ", there);
        }
        fprintf(stderr,
                "windlass: %s: its %lld workers use the same GPUs of this machine, %lld of them "
                "(%s--workers %lld: each has its own)\n",
                job, (long long)workers, (long long)gpus, have,
                MAX((long long)there / (long long)gpus, 1LL));
    }
    json_object_set_new(json_object_get(spec, "workers"), "gpus", json_integer(gpus));
    if (gpus == 0 && wanted > 0) {
        json_object_del(tree_get(spec, "scorer.onnx"), "precision");
    }
    return is_enough;
}

/* Each worker's server needs a port of its own here; in pods they have one each. */
int batchscore_check_fit(const json_t *spec, struct error *err) {
    int64_t workers = tree_integer(spec, "workers.max", -1);
    bool is_alone = workers <= 1 || !tree_get(spec, "scorer.endpoint.server");
    return is_alone || server_pod_has_port(spec)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.endpoint.server.command: %lld workers on one machine "
                           "would start servers with one port; write $(WINDLASS_PORT) where the "
                           "port is, or take --workers 1",
                           (long long)workers);
}

/* The program's output in the first mini-batch that failed. */
static void print_said(FILE *to, const json_t *status) {
    const char *text = tree_text(status, "failedLog", "");
    if (*text) {
        fprintf(to, "  the program's last lines in the first mini-batch that failed:\n");
        ending_print_lines(to, text);
    }
}

/* A line for each slot of workers that was given up. */
static void print_retired(FILE *to, const json_t *status) {
    const json_t *rows = json_object_get(status, "retired");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        const char *reason = tree_text(row, "reason", ""), *message = tree_text(row, "message", "");
        fprintf(to,
                "  retired  slot %lld of the workers, after %lld deaths; pod %s: exit code %lld",
                (long long)tree_integer(row, "slot", 0), (long long)tree_integer(row, "deaths", 0),
                tree_text(row, "pod", ""), (long long)tree_integer(row, "exitCode", 0));
        fprintf(to, "%s%s%s%s\n", *reason ? ", " : "", reason, *message ? ": " : "", message);
    }
    int64_t more = tree_integer(status, "retiredWorkers", 0) - (int64_t)json_array_size(rows);
    if (more > 0) {
        fprintf(to, "  retired  %lld more\n", (long long)more);
    }
}

static void print_failures(FILE *to, const json_t *status) {
    AUTO(tree_freep) json_t *shown = shown_tree(status);
    print_said(to, status);
    print_retired(to, shown);
}

/* Finished files are results at once; a video's parts need the join. */
static char *kept_folder(const struct ending *ending) {
    char *output = ending_path(ending, tree_text(ending->spec, "output.path", ""));
    if (tree_get(ending->spec, "input.video")) {
        AUTO(text_freep) char *whole = output;
        output = file_join(whole, ".windlass");
    }
    return output;
}

/* Prints the path of the report for people, next to the summary. Where this run could not write
 * one, the one that is there is an earlier run's. */
static void print_report(const struct ending *ending) {
    if (tree_find(json_object_get(ending->status, "lost"), "what", "report")) {
        return;
    }
    AUTO(text_freep)
    char *spec_path = x_printf("%s/report.html", tree_text(ending->spec, "output.path", ""));
    AUTO(text_freep) char *path = ending_path(ending, spec_path);
    if (job_is_stored(spec_path) || access(path, R_OK) == 0) {
        printf("  %-8s %s\n", "report", path);
    }
}

static void print_success(const struct ending *ending) {
    int64_t kept = tree_integer(ending->status, "items.kept", 0);
    int64_t done = tree_integer(ending->status, "items.done", 0) - kept;
    const char *message = tree_text(object_succeeded(ending->status), "message", "");
    double seconds = (double)MAX(ending->elapsed_ms, 1) / 1000;
    /* (Of a run of some milliseconds the rate is 0.) */
    if (!text_starts(message, "nothing to do")) {
        printf("%s succeeded: %lld %s in %.1f s, %.1f %s/s\n", ending->name, (long long)done,
               ending->unit, seconds, (double)done / seconds, ending->unit);
        if (kept > 0) {
            printf("  %-8s %s\n", "rerun", message);
        } else if (strstr(message, " was not empty: ")) {
            printf("  %-8s %s\n", "stays", message);
        } else if (strstr(message, ": the rows are those that the query gave ")) {
            printf("  %-8s %s\n", "rows", message);
        }
    } else {
        printf("%s succeeded: %s\n  %-8s with --restart\n", ending->name, message, "again");
    }
    int64_t failed = tree_integer(ending->status, "items.failed", 0);
    if (failed > 0) {
        printf("  %lld %s failed; the summary says which\n", (long long)failed, ending->unit);
        print_said(stdout, ending->raw_status);
    }
    int64_t left_out = tree_integer(ending->status, "items.leftOut", 0);
    if (left_out > 0) {
        printf("  %lld left out: %s\n", (long long)left_out,
               left_out == 1 ? "its name begins with a dot, or it is not a file"
                             : "their names begin with a dot, or they are not files");
    }
    int64_t cut = tree_integer(ending->status, "requests.cut", 0);
    if (cut > 0) {
        printf("  %-8s %lld answer%s at a limit of tokens, and %s kept as %s came\n", "cut",
               (long long)cut, cut == 1 ? " ends" : "s end", cut == 1 ? "is" : "are",
               cut == 1 ? "it" : "they");
    }
    size_t i;
    const json_t *lost;
    json_array_foreach(json_object_get(ending->status, "lost"), i, lost) {
        printf("  %-8s %s: %s\n", "lost", tree_text(lost, "what", ""), tree_text(lost, "why", ""));
    }
    print_retired(stdout, ending->status);
    const char *output = tree_text(ending->status, "outputs[0]", NULL);
    bool is_film = tree_get(ending->spec, "input.video") &&
                   strcmp(tree_text(ending->spec, "output.mode", "PerFile"), "PerFile") == 0;
    ending_print_path(ending, is_film ? "video" : "outputs", output);
    ending_print_path(ending, "summary", tree_text(ending->status, "summary", NULL));
    print_report(ending);
    printf("  %-8s %s\n", "logs", ending->state_folder);
    if (ending->file) {
        printf("The same on a cluster: kubectl apply -f %s\n", ending->file);
    }
    fflush(stdout);
}

static const struct ending_advice advices[] = {
    {"WorkersFailed", "correct what the worker reports and run again", 1, true, true},
    {"CoordinatorFailed", "correct what the coordinator reports and run again", 1, false, true},
    {NULL, NULL, 0, false, false},
};

const struct ending_kind batchscore_ending = {
    .advices = advices,
    .print_success = print_success,
    .print_failures = print_failures,
    .kept_folder = kept_folder,
};

void batchscore_read_numbers(const json_t *status, struct progress_numbers *numbers) {
    long long retried = tree_integer(status, "miniBatches.retried", 0);
    const char *message = tree_text(object_succeeded(status), "message", "");
    progress_line_read_items(status, numbers);
    if (text_starts(message, CONTRACT_WAITS)) {
        snprintf(numbers->detail, sizeof numbers->detail, "; %.200s", message);
        snprintf(numbers->place, sizeof numbers->place, "waits for the output's storage");
    }
    numbers->retried = retried;
    numbers->retried_unit = retried == 1 ? "mini-batch" : "mini-batches";
}

int batchscore_take_one_run(json_t *object, const struct job_options *options, struct error *err) {
    struct series_start now = {.number = 1, .time_ms = clock_wall_ms()};
    AUTO(tree_freep) json_t *made = NULL;
    if (!series_is(object)) {
        return 0;
    }
    if (series_make_run(object, options, &now, &made, err) < 0) {
        return -1;
    }
    json_object_set(object, "spec", json_object_get(made, "spec"));
    return 0;
}
