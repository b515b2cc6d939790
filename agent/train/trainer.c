// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include "agent/train/order.h"
#include "lib/clock.h"

#include <math.h>
#include <stdlib.h>

enum { METRICS_EVERY_MS = 10000 };

/* Since the epoch, or this process in it, began: for rates. */
struct period {
    int64_t samples, began_ns, waited_ns;
};

static void begin_period(const struct trainer *trainer, struct period *period) {
    *period = (struct period){.began_ns = clock_monotonic_ns(),
                              .waited_ns = loader_waited_ns(trainer->loader)};
}

static void add_row(struct trainer *trainer, struct period *period, double test_loss,
                    double test_accuracy) {
    double seconds = (double)(clock_monotonic_ns() - period->began_ns) / 1e9;
    const struct epoch_sums *sums = &trainer->sums;
    int64_t waited_ns = loader_waited_ns(trainer->loader) - period->waited_ns;
    struct metrics_row row = {.step = trainer->step, .wall_ms = clock_wall_ms()};
    row.epoch = (double)trainer->step / (double)trainer->epoch_steps;
    row.values[METRIC_LOSS] = sums->loss / sums->samples;
    row.values[METRIC_ACCURACY] = trainer->graph.correct ? sums->correct / sums->samples : NAN;
    row.values[METRIC_TEST_LOSS] = test_loss;
    row.values[METRIC_TEST_ACCURACY] = test_accuracy;
    row.values[METRIC_RATE] = rate_at(&trainer->rate, trainer->step - 1);
    row.values[METRIC_SPEED] = (double)period->samples / seconds;
    row.values[METRIC_WAITED] = MIN((double)waited_ns / 1e9 / seconds, 1.0);
    if (trainer->metrics) {
        metrics_add(trainer->metrics, &row);
    }
}

/* A failure is told and no more: what is not written now is written with the next. */
static void keep_metrics(const struct trainer *trainer) {
    struct error err = {0};
    if (trainer->metrics && metrics_write(trainer->metrics, &err) < 0) {
        trainer_say(trainer, "metrics: %s", err.text);
    }
}

static int end_epoch(struct trainer *trainer, struct period *period, struct error *err) {
    double loss, accuracy, seconds = (double)(clock_monotonic_ns() - period->began_ns) / 1e9;
    if (trainer_average(trainer, err) < 0 || trainer_evaluate(trainer, &loss, &accuracy, err) < 0) {
        return -1;
    }
    add_row(trainer, period, loss, accuracy);
    keep_metrics(trainer);
    char test[128] = "";
    if (trainer->test && isnan(accuracy)) {
        snprintf(test, sizeof test, ", test loss %.4f", loss);
    } else if (trainer->test) {
        snprintf(test, sizeof test, ", test loss %.4f, test accuracy %.4f", loss, accuracy);
    }
    trainer_say(
        trainer, "epoch %lld of %lld, step %lld: loss %.4f, accuracy %.4f%s, %.0f samples/s",
        (long long)(trainer->step / trainer->epoch_steps), (long long)trainer->epochs,
        (long long)trainer->step, trainer->sums.loss / trainer->sums.samples,
        trainer->sums.correct / trainer->sums.samples, test, (double)period->samples / seconds);
    begin_period(trainer, period);
    trainer->sums = (struct epoch_sums){0};
    return 0;
}

static bool wants_save(const struct trainer *trainer) {
    return trainer->comm->rank == 0 &&
           clock_monotonic_ms() - trainer->saved_ms >= trainer->save_every_ms;
}

/* Every rank makes the statistics' mean; rank 0 writes. */
static int save(struct trainer *trainer, struct error *err) {
    if (trainer_average(trainer, err) < 0) {
        return -1;
    }
    if (trainer->comm->rank == 0) {
        trainer_save(trainer);
        trainer->saved_ms = clock_monotonic_ms();
        keep_metrics(trainer);
    }
    return 0;
}

static int leave(struct trainer *trainer, struct error *err) {
    if (save(trainer, err) < 0 || trainer_saved(trainer, err) < 0) {
        return -1;
    }
    return error_set(err, ERROR_CANCELLED, "asked to leave; the checkpoint of step %lld is written",
                     (long long)trainer->step);
}

static int loop(struct trainer *trainer, struct error *err) {
    const struct train_job *job = trainer->job;
    const struct batch *batch;
    struct period period;
    int64_t row_ns = clock_monotonic_ns();
    int more = 0;
    begin_period(trainer, &period);
    trainer->saved_ms = clock_monotonic_ms();
    while ((more = loader_take(trainer->loader, &batch, err)) > 0) {
        bool leaves = job->is_stopped && job->is_stopped();
        int64_t total = batch->total;
        if (trainer_step(trainer, batch, wants_save(trainer), leaves, err) < 0) {
            return -1;
        }
        trainer->sums.loss += (double)trainer->rides[RIDE_LOSS] * (double)total;
        trainer->sums.correct += (double)trainer->rides[RIDE_CORRECT];
        trainer->sums.samples += (double)total;
        period.samples += total;
        if (trainer->rides[RIDE_LEAVE] > 0) {
            return leave(trainer, err);
        }
        if (trainer->step % trainer->epoch_steps == 0) {
            if (end_epoch(trainer, &period, err) < 0) {
                return -1;
            }
            row_ns = clock_monotonic_ns();
        } else if (clock_monotonic_ns() - row_ns > METRICS_EVERY_MS * INT64_C(1000000)) {
            add_row(trainer, &period, NAN, NAN);
            row_ns = clock_monotonic_ns();
        }
        if (trainer->rides[RIDE_SAVE] > 0 && save(trainer, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int run(struct trainer *trainer, struct error *err) {
    const struct train_job *job = trainer->job;
    struct comm *comm = trainer->comm;
    if (trainer_open(trainer, err) < 0 || trainer_prepare(trainer, err) < 0 ||
        reducer_open(comm, &trainer->buckets, trainer->gradients, job->patience_ms,
                     &trainer->reducer, err) < 0 ||
        trainer_begin(trainer, err) < 0) {
        return -1;
    }
    struct loader_options options = {.dataset = trainer->train,
                                     .augment = &trainer->augment,
                                     .is_training = true,
                                     .seed = trainer->seed,
                                     .batch_size = trainer->batch_size,
                                     .rank = comm->rank,
                                     .size = comm->size,
                                     .first_step = trainer->step,
                                     .end_step = trainer->total_steps,
                                     .threads = MIN(job->threads, LOADER_THREADS_MAX)};
    if (loader_open(&options, &trainer->loader, err) < 0 || loop(trainer, err) < 0) {
        return -1;
    }
    /* The last state is kept before the result: whoever starts this run again has nothing to do. */
    if (save(trainer, err) < 0 || trainer_saved(trainer, err) < 0) {
        return -1;
    }
    return comm->rank == 0 ? trainer_publish(trainer, err) : 0;
}

int trainer_run(const struct train_job *job, struct comm *comm, struct error *err) {
    struct trainer *trainer = x_calloc(1, sizeof *trainer);
    struct error ignored = {0};
    trainer->job = job;
    trainer->comm = comm;
    int result = run(trainer, err);
    reducer_close(TAKE(trainer->reducer)); /* in the middle of a sum: that makes the comm lost */
    if (atomic_load(&comm->is_lost)) {
        return -1; /* the reducer's thread may still use all of it */
    }
    if (trainer_saved(trainer, &ignored) < 0) {
        error_clear(&ignored); /* the run has ended another way, which is told */
    }
    trainer_close(trainer);
    free(trainer);
    return result;
}
