// SPDX-License-Identifier: Apache-2.0
/* What rank 0 reports: figures for the job's status (latest_metrics.h), and metrics for which a job
 * can be tuned (spec.metrics). With an objective the metrics of all epochs so far are in each
 * checkpoint: a start that continues from it reports them again. The pod that died may have had
 * reports that the job's status lacks, and the value of the job must be that of its network. */
#include "agent/train/trainer_state.h"
#include "agent/train/trainer_variables.h"

#include "agent/launch/rank/metric_socket.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_REPORTS "windlass:reports"

/* A row as an element of a checkpoint's tensor. */
enum { ROW_NUMBERS = sizeof(struct epoch_report) / sizeof(float) };

void trainer_send_figures(const struct trainer *trainer, double loss, double speed,
                          double test_accuracy) {
    int64_t step = trainer->step, kept_step = atomic_load(&trainer->writer.kept_step);
    int64_t epoch = (step - 1) / trainer->epoch_steps + 1;
    metric_send("epoch", (double)epoch, step);
    if (!isnan(loss)) {
        metric_send("loss", loss, step);
    }
    if (!isnan(trainer->first_loss)) {
        metric_send("windlass.firstLoss", (double)trainer->first_loss, step);
    }
    if (!isnan(speed)) {
        metric_send("samplesPerSecond", speed, step);
    }
    if (!isnan(test_accuracy)) {
        metric_send("accuracy", test_accuracy, step);
    }
    if (bad_samples_skips(trainer->bad_train)) {
        metric_send("windlass.badSamples", (double)trainer_count_bad(trainer), step);
    }
    if (kept_step > 0) {
        metric_send("checkpoint", (double)kept_step, step);
    }
}

/* ---- metrics -------------------------------------------------------------------------------- */

/* Appends those that are known; returns how many. */
static size_t add_metrics(const struct epoch_report *report, int64_t step, struct metric *metrics) {
    size_t count = 0;
    for (int i = 0; i < BEST_METRIC_COUNT; i++) {
        if (!isnan(report->values[i])) {
            struct metric *metric = &metrics[count++];
            *metric = (struct metric){.value = report->values[i], .step = step};
            snprintf(metric->name, sizeof metric->name, "%s",
                     best_metric_name((enum best_metric)i));
        }
    }
    return count;
}

static void send(const struct trainer *trainer, const struct metric *metrics, size_t count) {
    struct error err = {0};
    if (metric_report_all(metrics, count, &err) < 0) {
        trainer_say(trainer, "metrics: %s", err.text);
    }
}

/* Epochs before it are unknown after a checkpoint of an older version, which has no reports. */
static void keep(struct trainer *trainer, const struct epoch_report *report) {
    size_t epoch = (size_t)(trainer->step / trainer->epoch_steps);
    trainer->reports.all =
        x_realloc_array(trainer->reports.all, epoch, sizeof *trainer->reports.all);
    for (size_t i = trainer->reports.count; i + 1 < epoch; i++) {
        trainer->reports.all[i] = (struct epoch_report){{NAN, NAN, NAN, NAN}};
    }
    trainer->reports.all[epoch - 1] = *report;
    trainer->reports.count = epoch;
}

void trainer_report(struct trainer *trainer, const double values[static BEST_METRIC_COUNT]) {
    struct epoch_report report;
    struct metric metrics[BEST_METRIC_COUNT];
    if (trainer->comm->rank != 0) {
        return;
    }
    memcpy(report.values, values, sizeof report.values);
    send(trainer, metrics, add_metrics(&report, trainer->step, metrics));
    if (trainer->best_goal.metric >= 0) {
        keep(trainer, &report);
    }
}

/* ---- in checkpoints ------------------------------------------------------------------------- */

bool trainer_reports_tensor(struct trainer *trainer, struct trainer_tensor *tensor) {
    *tensor = (struct trainer_tensor){
        .shape = {1, {(int64_t)trainer->reports.count * ROW_NUMBERS}},
        .data = (float *)(void *)trainer->reports.all,
    };
    snprintf(tensor->name, sizeof tensor->name, STATE_REPORTS);
    return trainer->reports.count > 0;
}

void trainer_reports_take(struct trainer *trainer, const struct checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int64_t rows = tensor->shape.rank == 1 ? tensor->shape.dims[0] / ROW_NUMBERS : 0;
        if (trainer->best_goal.metric >= 0 && strcmp(tensor->name, STATE_REPORTS) == 0 &&
            rows > 0 && rows <= checkpoint->step / trainer->epoch_steps) {
            size_t bytes = (size_t)rows * sizeof *trainer->reports.all;
            free(trainer->reports.all);
            trainer->reports.all = x_malloc(bytes);
            memcpy(trainer->reports.all, tensor->data, bytes);
            trainer->reports.count = (size_t)rows;
        }
    }
}

void trainer_reports_repeat(const struct trainer *trainer) {
    size_t epochs = trainer->reports.count, count = 0;
    struct metric *metrics = x_calloc(epochs * BEST_METRIC_COUNT + 1, sizeof *metrics);
    for (size_t i = 0; i < epochs; i++) {
        int64_t step = (int64_t)(i + 1) * trainer->epoch_steps;
        count += add_metrics(&trainer->reports.all[i], step, metrics + count);
    }
    send(trainer, metrics, count);
    free(metrics);
    trainer_send_variables(trainer);
    bool is_current = epochs > 0 && (int64_t)epochs * trainer->epoch_steps == trainer->step;
    const double *last = is_current ? trainer->reports.all[epochs - 1].values : NULL;
    trainer_send_figures(trainer, last ? last[BEST_LOSS] : NAN, NAN,
                         last ? last[BEST_ACCURACY] : NAN);
}
