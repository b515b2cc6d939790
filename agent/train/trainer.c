// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_rows.h"
#include "agent/train/trainer_state.h"
#include "agent/train/trainer_variables.h"

#include "agent/train/dataset/order.h"
#include "agent/train/dataset/stop.h"
#include "lib/time/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    METRICS_EVERY_MS = 10000,
    SAY_EVERY_MS = 60000,
    TELL_EVERY_MS = 1000,
    FIRST_STEP_TIMEOUTS = 3
};

/* Counters for rates, since the epoch, or this process in it, began. */
struct period {
    int64_t samples, began_ns, waited_ns;
    int64_t row_ms, said_ms; /* when the last row was added, when the last line was printed, ... */
    int64_t told_ms;         /* ... and when figures were reported; 0: never */
};

static void begin_period(const struct trainer *trainer, struct period *period) {
    int64_t now_ms = clock_monotonic_ms();
    *period = (struct period){.began_ns = clock_monotonic_ns(),
                              .waited_ns = loader_waited_ns(trainer->loader),
                              .row_ms = now_ms,
                              .said_ms = now_ms};
}

static double speed_of(const struct period *period) {
    double seconds = (double)(clock_monotonic_ns() - period->began_ns) / 1e9;
    return (double)period->samples / seconds;
}

/* ", accuracy 0.9213", or nothing if it is not known. */
static void format_accuracy(char text[static 64], const char *what, double accuracy) {
    *text = 0;
    if (!isnan(accuracy)) {
        snprintf(text, 64, ", %s %.4f", what, accuracy);
    }
}

/* Of the epoch so far. */
static double accuracy_of(const struct trainer *trainer) {
    int head = trainer->accuracy_head;
    bool is_known = head >= 0 && trainer->graph.losses[head].correct && trainer->places > 0;
    return is_known ? trainer->sums.correct / trainer->places : NAN;
}

/* Of the epoch so far; NAN: no sample of it counts, for example with classWeights of 0. */
static double loss_of(const struct trainer *trainer) {
    const struct epoch_sums *sums = &trainer->sums;
    return sums->weight > 0 ? sums->loss / sums->weight : NAN;
}

static void format_loss(char text[static 32], double loss) {
    snprintf(text, 32, isnan(loss) ? "unknown" : "%.4f", loss);
}

/* Reports figures of the epoch so far, and progress, to the gang of this rank, if there is one.
 * test_accuracy: NAN without a new value. */
static void report_figures(const struct trainer *trainer, struct period *period, double speed,
                           double test_accuracy) {
    if (trainer->comm->rank != 0) {
        return;
    }
    if (period->told_ms == 0) {
        trainer_send_variables(trainer);
    }
    trainer_send_figures(trainer, loss_of(trainer), speed < 10 ? speed : round(speed),
                         test_accuracy);
    trainer_send_heads(trainer);
    period->told_ms = clock_monotonic_ms();
}

/* Prints progress within an epoch. */
static void print_step(const struct trainer *trainer, struct period *period) {
    char loss[32], accuracy[64];
    format_loss(loss, loss_of(trainer));
    format_accuracy(accuracy, "accuracy", accuracy_of(trainer));
    trainer_say(trainer, "step %lld of %lld: loss %s%s, learning rate %.3g, %.0f samples/s",
                (long long)trainer->step, (long long)trainer->total_steps, loss, accuracy,
                rate_at(&trainer->rate, trainer->step - 1), speed_of(period));
    period->said_ms = clock_monotonic_ms();
}

static void add_row(struct trainer *trainer, struct period *period, double test_loss,
                    double test_accuracy) {
    double seconds = (double)(clock_monotonic_ns() - period->began_ns) / 1e9;
    int64_t waited_ns = loader_waited_ns(trainer->loader) - period->waited_ns;
    struct metrics_row row = {.step = trainer->step, .wall_ms = clock_wall_ms()};
    row.epoch = (double)trainer->step / (double)trainer->epoch_steps;
    row.values[METRIC_LOSS] = loss_of(trainer);
    row.values[METRIC_ACCURACY] = accuracy_of(trainer);
    row.values[METRIC_TEST_LOSS] = test_loss;
    row.values[METRIC_TEST_ACCURACY] = test_accuracy;
    row.values[METRIC_RATE] = rate_at(&trainer->rate, trainer->step - 1);
    row.values[METRIC_SPEED] = (double)period->samples / seconds;
    row.values[METRIC_WAITED] = MIN((double)waited_ns / 1e9 / seconds, 1.0);
    if (trainer->metrics) {
        metrics_log_add(trainer->metrics, &row);
    }
    period->row_ms = clock_monotonic_ms();
}

/* A failure is only logged: the next write contains everything. */
static void keep_metrics(const struct trainer *trainer) {
    struct error err = {0};
    if (trainer->metrics && metrics_log_write(trainer->metrics, &err) < 0) {
        trainer_say(trainer, "metrics: %s", err.text);
    }
}

/* At the end of an epoch. */
static void print_bad_samples(struct trainer *trainer) {
    struct bad_sums *bad = &trainer->bad_sums;
    if (bad->train > 0) {
        trainer_say(trainer,
                    "%.0f of %lld samples are bad; others took their places (data.onBadSample: "
                    "Skip)",
                    (double)bad->train, (long long)trainer->train->count);
    }
    if (bad->most_test > 0) {
        trainer_say(trainer, "%.0f of %lld samples of data.test are bad, and were not counted",
                    (double)bad->most_test, (long long)trainer->test->count);
    }
    bad->most_train = fmaxf(bad->train, bad->most_train);
    bad->train = 0;
}

static void print_heads(const struct trainer *trainer) {
    char text[HEAD_TEXT_MAX];
    if (trainer->head_count > 1) {
        trainer_format_heads(trainer, trainer->head_sums, text);
        trainer_say(trainer, "losses of the outputs: %s", text);
    }
}

/* At the end of the last epoch. */
static void print_growth(const struct trainer *trainer) {
    double last = loss_of(trainer), first = (double)trainer->first_loss;
    if (trainer->step == trainer->total_steps && last > first) { /* false if one is not known */
        trainer_say(trainer,
                    "the loss has not fallen: %.4f at the first step, %.4f in the last epoch. "
                    "Lower optimizer.learningRate, warm up for longer, or look at the labels",
                    first, last);
    }
}

/* A wrong number must not get into a checkpoint, from which all go on, nor into the result. */
static int average(struct trainer *trainer, struct error *err) {
    return trainer_average(trainer, err) < 0 ? -1 : trainer_compare(trainer, true, err);
}

static int end_epoch(struct trainer *trainer, struct period *period, struct error *err) {
    double loss, accuracy, speed = speed_of(period);
    int64_t began_ns = clock_monotonic_ns();
    if (average(trainer, err) < 0 || trainer_evaluate(trainer, &loss, &accuracy, err) < 0) {
        return -1;
    }
    timeline_add(trainer->timeline, TIMELINE_COMPUTE, "evaluation", began_ns, clock_monotonic_ns());
    add_row(trainer, period, loss, accuracy);
    report_figures(trainer, period, speed, accuracy);
    const double values[] = {[BEST_LOSS] = loss_of(trainer),
                             [BEST_TRAIN_ACCURACY] = accuracy_of(trainer),
                             [BEST_TEST_LOSS] = loss,
                             [BEST_ACCURACY] = accuracy};
    trainer_report(trainer, values);
    if (trainer_best_offer(trainer, values, err) < 0) {
        return -1;
    }
    keep_metrics(trainer);
    char test[64] = "", accuracies[2][64], own[32];
    format_loss(own, loss_of(trainer));
    format_accuracy(accuracies[0], "accuracy", accuracy_of(trainer));
    format_accuracy(accuracies[1], "test accuracy", accuracy);
    if (trainer->test) {
        snprintf(test, sizeof test, ", test loss %.4f", loss);
    }
    trainer_say(trainer,
                "epoch %lld of %lld, step %lld: loss %s%s%s%s, learning rate %.3g, "
                "%.0f samples/s",
                (long long)(trainer->step / trainer->epoch_steps), (long long)trainer->epochs,
                (long long)trainer->step, own, accuracies[0], test, accuracies[1],
                rate_at(&trainer->rate, trainer->step - 1), speed);
    print_heads(trainer);
    print_bad_samples(trainer);
    print_growth(trainer);
    begin_period(trainer, period);
    trainer->sums = (struct epoch_sums){0};
    trainer->places = 0;
    memset(trainer->head_sums, 0, sizeof trainer->head_sums);
    return 0;
}

static bool wants_save(const struct trainer *trainer) {
    return trainer->comm->rank == 0 &&
           clock_monotonic_ms() - trainer->saved_ms >= trainer->save_every_ms;
}

/* Every rank averages the statistics; rank 0 writes. */
static int save(struct trainer *trainer, struct error *err) {
    int64_t began_ns = clock_monotonic_ns();
    if (average(trainer, err) < 0) {
        return -1;
    }
    if (trainer->comm->rank == 0) {
        if (trainer_save_start(trainer, err) < 0) {
            return -1;
        }
        trainer->saved_ms = clock_monotonic_ms();
        keep_metrics(trainer);
    }
    timeline_add(trainer->timeline, TIMELINE_COMPUTE, "checkpoint", began_ns, clock_monotonic_ns());
    return 0;
}

static int leave(struct trainer *trainer, struct error *err) {
    if (save(trainer, err) < 0 || trainer_save_wait(trainer, err) < 0) {
        return -1;
    }
    return error_set(err, ERROR_CANCELLED,
                     "stopped on request; the checkpoint of step %lld is written",
                     (long long)trainer->step);
}

/* Does one step and updates the counters. since_ns: when the rank began to wait for its batch. */
static int step(struct trainer *trainer, const struct batch *batch, int64_t since_ns,
                struct period *period, struct error *err) {
    const struct train_job *job = trainer->job;
    struct step_request request = {.saves = wants_save(trainer),
                                   .leaves = stop_is_requested(job->is_stopped),
                                   .is_recorded =
                                       timeline_begin(trainer->timeline, batch->step + 1)};
    if (request.is_recorded) {
        /* Viewers expect a nested interval to begin later than the outer one. */
        timeline_add(trainer->timeline, TIMELINE_COMPUTE, "wait for a batch", since_ns + 1,
                     clock_monotonic_ns());
    }
    if (trainer_step(trainer, batch, &request, err) < 0) {
        return -1;
    }
    if (trainer_compare_is_due(trainer) && trainer_compare(trainer, false, err) < 0) {
        return -1;
    }
    timeline_end(trainer->timeline, since_ns, clock_monotonic_ns(),
                 (double)trainer->scalars[SCALAR_LOSS]);
    /* The mean of several losses is over the samples: each counts its own places. */
    const struct criterion_count *counted = &trainer->heads[MAX(trainer->accuracy_head, 0)].counted;
    double weight = trainer->head_count > 1 ? (double)batch->total : counted->weight;
    trainer->sums.loss += (double)trainer->scalars[SCALAR_LOSS] * weight;
    trainer->sums.correct += (double)trainer->scalars[SCALAR_CORRECT];
    trainer->sums.weight += weight;
    trainer->places += counted->places;
    trainer_add_heads(trainer);
    period->samples += batch->total;
    return 0;
}

/* Work that is due after a step. */
static int after_step(struct trainer *trainer, struct period *period, bool is_first,
                      struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    if (is_first) {
        reducer_set_timeout(trainer->reducer, trainer->job->timeout_ms);
    }
    if (trainer->step % trainer->epoch_steps == 0) {
        if (end_epoch(trainer, period, err) < 0) {
            return -1;
        }
    } else {
        if (now_ms - period->told_ms >= TELL_EVERY_MS) {
            report_figures(trainer, period, speed_of(period), NAN);
        }
        if (now_ms - period->row_ms > METRICS_EVERY_MS) {
            add_row(trainer, period, NAN, NAN);
        }
        if (is_first || now_ms - period->said_ms > SAY_EVERY_MS) {
            print_step(trainer, period);
        }
    }
    return trainer->scalars[SCALAR_SAVE] > 0 ? save(trainer, err) : 0;
}

static int loop(struct trainer *trainer, struct error *err) {
    const struct batch *batch;
    struct period period;
    int64_t since_ns = clock_monotonic_ns();
    bool is_first = true;
    int more = 0;
    begin_period(trainer, &period);
    trainer->block.begun_step = trainer->step;
    trainer->saved_ms = clock_monotonic_ms();
    /* A stop was requested at the last step of an epoch, so the work at the end of the epoch is not
     * done. */
    if (trainer->places > 0 && trainer->step % trainer->epoch_steps == 0 &&
        end_epoch(trainer, &period, err) < 0) {
        return -1;
    }
    while ((more = loader_take(trainer->loader, &batch, err)) > 0) {
        if (step(trainer, batch, since_ns, &period, err) < 0) {
            return -1;
        }
        if (trainer->scalars[SCALAR_LEAVE] > 0) {
            return leave(trainer, err);
        }
        if (after_step(trainer, &period, is_first, err) < 0) {
            return -1;
        }
        is_first = false;
        since_ns = clock_monotonic_ns();
    }
    return more;
}

/* Spec, network and data, and memory for them. What is not there or not supported would not be at
 * another start, either. */
static int prepare(struct trainer *trainer, struct error *err) {
    if (trainer_find_paths(trainer, err) < 0 || trainer_open(trainer, err) < 0 ||
        trainer_prepare(trainer, err) < 0) {
        bool is_final = err->kind == ERROR_NOT_FOUND || err->kind == ERROR_UNSUPPORTED;
        err->kind = is_final ? ERROR_INVALID : err->kind;
        return -1;
    }
    return 0;
}

static int run(struct trainer *trainer, struct error *err) {
    struct comm *comm = trainer->comm;
    struct reducer_ops ops;
    if (prepare(trainer, err) < 0 || trainer_make_reducer_ops(trainer, &ops, err) < 0 ||
        reducer_open(comm, &trainer->buckets, trainer->gradients,
                     FIRST_STEP_TIMEOUTS * trainer->job->timeout_ms, &trainer->reducer, err) < 0) {
        return -1;
    }
    reducer_set_ops(trainer->reducer, &ops);
    /* Before anything is trained; and before it is published (trainer_finish). */
    if (trainer_begin(trainer, err) < 0 ||
        (comm->rank == 0 && trainer_check_rows(trainer, err) < 0)) {
        return -1;
    }
    struct loader_options options = {.dataset = trainer->train,
                                     .augment = &trainer->augment,
                                     .is_training = true,
                                     .bad = trainer->bad_train,
                                     .seed = trainer->seed,
                                     .batch_size = trainer->batch_size,
                                     .rank = comm->rank,
                                     .size = comm->size,
                                     .first_step = trainer->step,
                                     .end_step = trainer->total_steps,
                                     .threads = MIN(trainer->job->threads, LOADER_THREADS_MAX)};
    if (loader_open(&options, &trainer->loader, err) < 0 || loop(trainer, err) < 0) {
        return -1;
    }
    if (average(trainer, err) < 0) {
        return -1;
    }
    return comm->rank == 0 ? trainer_finish(trainer, err) : 0;
}

/* The timeline is written after failures, too, so that they can be examined. */
static void keep_timeline(struct trainer *trainer) {
    struct error err = {0};
    if (timeline_finish(trainer->timeline, &err) < 0) {
        trainer_say(trainer, "%s", err.text);
    }
}

int trainer_run(const struct train_job *job, struct comm *comm, struct error *err) {
    struct trainer *trainer = x_calloc(1, sizeof *trainer);
    struct error ignored = {0};
    trainer->job = job;
    trainer->comm = comm;
    int result = run(trainer, err);
    if (job->has_bad_data) {
        *job->has_bad_data =
            bad_samples_has_ended(trainer->bad_train) || bad_samples_has_ended(trainer->bad_test);
    }
    reducer_close(TAKE(trainer->reducer)); /* during a sum this makes the comm lost */
    if (atomic_load(&comm->is_lost)) {
        return -1; /* the reducer's thread may still use all of it */
    }
    keep_timeline(trainer);
    if (trainer_save_wait(trainer, &ignored) < 0) {
        error_clear(&ignored); /* another error has ended the run, and is reported */
    }
    trainer_close(trainer);
    free(trainer);
    return result;
}
