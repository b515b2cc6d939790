// SPDX-License-Identifier: Apache-2.0
/* Writes the result: model.onnx and what is recorded with it. */
#include "agent/train/trainer_rows.h"
#include "agent/train/trainer_state.h"

#include "agent/launch/rank/metric_socket.h"
#include "agent/store/finished.h"
#include "agent/train/dataset/stop.h"
#include "lib/digest.h"
#include "lib/time/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Waits for a store that restarts, because the training may have taken hours. */
enum { RESULT_TIMEOUT_MS = 300000, PAUSE_MS = 1000, PAUSE_MAX_MS = 30000, LOOK_MS = 100 };
enum { PIECE = 8 << 20 };

/* ---- model.onnx ----------------------------------------------------------------------------- */

/* A start that another one has overtaken must not publish: the newer one does, or has done it. */
static int check_newest(const struct trainer *trainer, struct error *err) {
    struct checkpoint_location place = {trainer->store, trainer->prefix};
    bool is_newest = false;
    if (checkpoint_is_newest(&place, trainer->generation, &is_newest, err) < 0) {
        return -1;
    }
    return is_newest
               ? 0
               : error_set(err, ERROR_CONFLICT, "a newer start of this training has taken over");
}

static int put_model(struct trainer *trainer, const struct buffer *bytes, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    if (store_upload_open(trainer->store, RESULT_MODEL, &upload, err) < 0) {
        return -1;
    }
    for (size_t at = 0; at < bytes->size; at += PIECE) {
        size_t piece = MIN(bytes->size - at, (size_t)PIECE);
        if (store_upload_add(upload, bytes->data + at, piece, err) < 0) {
            return -1;
        }
    }
    /* Right before the object gets its name, so that little time is left to be overtaken in. */
    return check_newest(trainer, err) < 0 ? -1 : store_upload_commit(upload, STORE_REPLACE, err);
}

/* The last step's loss was finite, but the weights after that step are not checked yet. */
static int check_finite(const struct trainer *trainer, size_t variable, const float *values,
                        struct error *err) {
    size_t count = trainer_variable_size(trainer, variable);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return error_set(err, ERROR_FAILED,
                             "weight %s is not a number after step %lld, the last one: lower "
                             "optimizer.learningRate, or warm up for longer",
                             trainer->network->values[trainer->graph.variables[variable]].name,
                             (long long)trainer->step);
        }
    }
    return 0;
}

/* The result's weights by value of the network: statistics in place, weights in *ret_copy, which
 * the caller owns; or those of the best epoch. */
static int find_weights(const struct trainer *trainer, const void **weights, float **ret_copy,
                        struct error *err) {
    const struct training_graph *graph = &trainer->graph;
    size_t count = 0, at = 0;
    for (size_t i = 0; i < graph->variable_count; i++) {
        count += trainer_variable_size(trainer, i);
    }
    float *copy = *ret_copy = x_malloc((count + 1) * sizeof *copy);
    for (size_t i = 0; i < graph->variable_count; i++) {
        if (trainer_device_read(trainer, copy + at, trainer->results[i],
                                trainer_variable_size(trainer, i), err) < 0 ||
            check_finite(trainer, i, copy + at, err) < 0) {
            return -1;
        }
        weights[graph->variables[i]] = copy + at;
        at += trainer_variable_size(trainer, i);
    }
    for (size_t i = 0; i < 2 * graph->norm_count; i++) {
        weights[trainer_statistic_constant(trainer, i)] = trainer->statistics[i];
    }
    trainer_best_weights(trainer, weights);
    return 0;
}

static int write_model(struct trainer *trainer, struct finished_object *ret_object,
                       struct error *err) {
    AUTO(buffer_release) struct buffer bytes;
    float *copy = NULL;
    const void **weights = x_calloc(trainer->network->value_count + 1, sizeof *weights);
    struct write_options options = {.opset = trainer->opset, .weights = weights};
    buffer_init(&bytes, WRITE_BYTES_MAX);
    int result = find_weights(trainer, weights, &copy, err) < 0
                     ? -1
                     : model_write(trainer->network, &options, &bytes, err);
    free(weights);
    free(copy);
    if (result < 0 || put_model(trainer, &bytes, err) < 0) {
        return -1;
    }
    *ret_object = (struct finished_object){.name = RESULT_MODEL, .size_bytes = (int64_t)bytes.size};
    digest_sha256(bytes.data, bytes.size, ret_object->sha256);
    return 0;
}

/* ---- the record of the result (finished.h) -------------------------------------------------- */

/* All but its objects. */
static void describe(const struct trainer *trainer, struct finished *finished) {
    *finished = (struct finished){
        .generation = trainer->generation,
        .round = trainer->job->round,
        .step = trainer->step,
        .epochs = trainer->epochs,
        .bad_samples = bad_samples_skips(trainer->bad_train) ? trainer_count_bad(trainer) : 0};
    snprintf(finished->run, sizeof finished->run, "%s", trainer->job->run);
    snprintf(finished->settings, sizeof finished->settings, "%s", trainer->digest);
    trainer_describe_data(trainer, finished->data);
    trainer_describe_changed(trainer, finished->changed);
    if (trainer->best_goal.metric >= 0) {
        char name[BEST_NAME_MAX];
        best_record_name(&trainer->best_goal, name);
        snprintf(finished->objective, sizeof finished->objective, "%s", name);
    }
    clock_format(clock_wall_ms(), finished->at);
}

/* The result is complete when the record is stored, and not before. */
static int put_record(struct trainer *trainer, const struct finished *finished, struct error *err) {
    return check_newest(trainer, err) < 0
               ? -1
               : finished_put(trainer->store, trainer->prefix, finished, err);
}

/* A short training that was interrupted may have no metrics. */
static int add_metrics(const struct trainer *trainer, struct finished *finished,
                       struct error *err) {
    struct error cause = {0};
    if (finished_hash(trainer->store, METRICS_CSV, &finished->objects[finished->count], &cause) ==
        0) {
        finished->count++;
    } else if (cause.kind != ERROR_NOT_FOUND) {
        *err = cause;
        return -1;
    }
    return 0;
}

static int publish(struct trainer *trainer, struct error *err) {
    struct finished finished;
    describe(trainer, &finished);
    if (write_model(trainer, &finished.objects[0], err) < 0 ||
        metrics_log_write(trainer->metrics, err) < 0) {
        return -1;
    }
    finished.count = 1;
    return add_metrics(trainer, &finished, err) < 0 ? -1 : put_record(trainer, &finished, err);
}

/* True if an earlier start of this training has come to its end, and its result is still there: a
 * record of this start then names the same objects. A damaged record or result is made again. */
static bool is_finished_already(struct trainer *trainer) {
    struct finished before, now;
    struct error err = {0};
    bool found = false;
    describe(trainer, &now);
    if (finished_newest(trainer->store, trainer->prefix, &found, &before, &err) < 0) {
        trainer_say(trainer, "%s; the result is written again", err.text);
        return false;
    }
    if (!found || before.step != now.step || strcmp(before.settings, now.settings) != 0 ||
        strcmp(before.objective, now.objective) != 0) {
        return false;
    }
    if (finished_check(trainer->store, &before, &err) < 0) {
        trainer_say(trainer, "%s; the result is written again", err.text);
        return false;
    }
    now.count = before.count;
    memcpy(now.objects, before.objects, sizeof now.objects);
    if (put_record(trainer, &now, &err) < 0) {
        trainer_say(trainer, "%s", err.text);
        return false;
    }
    trainer_say(
        trainer, "this training came to its end at %s: %s/%s (SHA-256 %.16s...) is complete",
        before.at, store_path(trainer->store), before.objects[0].name, before.objects[0].sha256);
    return true;
}

/* ---- the end of a training ------------------------------------------------------------------ */

static bool is_final(const struct error *err) {
    return err->kind == ERROR_CONFLICT || err->kind == ERROR_INVALID ||
           err->kind == ERROR_UNSUPPORTED || err->kind == ERROR_FAILED || err->kind == ERROR_BUG;
}

/* False: a stop was requested while waiting. */
static bool pause_for(const struct trainer *trainer, int64_t ms) {
    const struct train_job *job = trainer->job;
    int64_t until_ms = clock_monotonic_ms() + ms;
    bool is_stopped = false;
    while (!is_stopped && clock_monotonic_ms() < until_ms) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
        is_stopped = stop_is_requested(job->is_stopped);
    }
    return !is_stopped;
}

int trainer_finish(struct trainer *trainer, struct error *err) {
    int64_t until_ms = clock_monotonic_ms() + RESULT_TIMEOUT_MS, pause_ms = PAUSE_MS;
    bool is_kept = false, has_waited = false, has_looked = false;
    if (is_finished_already(trainer)) {
        return 0;
    }
    if (trainer_check_rows(trainer, err) < 0) {
        return error_context(err, "the result");
    }
    for (;;) {
        struct error cause = {0}, unkept = {0};
        if (!is_kept) { /* first, so that the next start of this run need not train again */
            if (trainer_save_start(trainer, err) < 0) {
                return -1;
            }
            is_kept = trainer_save_wait(trainer, &unkept) == 0;
        }
        if (!is_kept) {
            trainer_say(trainer, "%s", unkept.text);
        }
        if (!has_looked) { /* behind the checkpoint: a listing of many files takes minutes */
            trainer_look_at_data(trainer);
            has_looked = true;
        }
        if (publish(trainer, &cause) == 0) {
            has_waited ? metric_say_waits("") : (void)0;
            trainer_best_report(trainer);
            trainer_say(trainer, "the result: %s/" RESULT_MODEL, store_path(trainer->store));
            return 0;
        }
        int64_t left_ms = until_ms - clock_monotonic_ms();
        if (is_final(&cause) || left_ms <= 0) {
            *err = cause;
            err->kind = is_final(&cause) ? cause.kind : ERROR_UNAVAILABLE;
            return error_context(err, "the result");
        }
        trainer_say(trainer, "the result: %s; retrying for %lld s", cause.text,
                    (long long)(left_ms / 1000));
        metric_say_waits(cause.text);
        has_waited = true;
        if (!pause_for(trainer, MIN(pause_ms, left_ms))) {
            return error_set(err, ERROR_CANCELLED,
                             "stopped on request before the result could be written%s",
                             is_kept ? "; the checkpoint of the last step is" : "");
        }
        pause_ms = MIN(2 * pause_ms, PAUSE_MAX_MS);
    }
}
