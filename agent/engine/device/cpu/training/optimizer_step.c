// SPDX-License-Identifier: Apache-2.0
/* Threads share the elements. Sums are computed in pieces that depend only on the count, so the
 * bits of the result do not depend on the number of threads. */
#include "agent/engine/ops/infer/optimizer_step.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>

enum { GRAIN = 1 << 14, PIECES = 64 };

struct work {
    const float *w, *g, *states[2];
    float *new_w, *new_states[2];
    int64_t count;
    float decay, ratio, rate, first, rest_first, second, rest_second, unbias, epsilon;
    bool is_nesterov;
};

static void plain_body(void *context, int64_t from, int64_t to) {
    const struct work *work = context;
    const float *w = work->w, *g = work->g;
    float *new_w = work->new_w, decay = work->decay, rate = work->rate;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        new_w[i] = w[i] - rate * (g[i] + decay * w[i]);
    }
}

static void momentum_body(void *context, int64_t from, int64_t to) {
    const struct work *work = context;
    const float *w = work->w, *g = work->g, *v = work->states[0];
    float *new_w = work->new_w, *new_v = work->new_states[0];
    float decay = work->decay, rate = work->rate, ratio = work->ratio, momentum = work->first;
    float ahead = work->is_nesterov ? momentum : 1, own = work->is_nesterov ? 1 : 0;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = ratio * (g[i] + decay * w[i]);
        float velocity = momentum * v[i] + d;
        new_v[i] = velocity;
        new_w[i] = w[i] - rate * (own * d + ahead * velocity);
    }
}

static void adam_body(void *context, int64_t from, int64_t to) {
    const struct work work = *(const struct work *)context;
    const float *w = work.w, *g = work.g, *m = work.states[0], *s = work.states[1];
    float *new_w = work.new_w, *new_m = work.new_states[0], *new_s = work.new_states[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = g[i] + work.decay * w[i];
        float mean = work.first * m[i] + work.rest_first * d;
        float square = work.second * s[i] + work.rest_second * d * d;
        new_m[i] = mean;
        new_s[i] = square;
        new_w[i] = w[i] - work.rate * mean / (sqrtf(square) * work.unbias + work.epsilon);
    }
}

struct sums {
    const float *w, *g;
    int64_t count;
    double w_squares[PIECES], g_squares[PIECES];
};

static void sums_body(void *context, int64_t first, int64_t last) {
    struct sums *sums = context;
    for (int64_t piece = first; piece < last; piece++) {
        double w = 0, g = 0;
        int64_t to = sums->count * (piece + 1) / PIECES;
        for (int64_t i = sums->count * piece / PIECES; i < to; i++) {
            w += (double)sums->w[i] * (double)sums->w[i];
            g += (double)sums->g[i] * (double)sums->g[i];
        }
        sums->w_squares[piece] = w;
        sums->g_squares[piece] = g;
    }
}

/* LARS: trust |w| / (|g| + decay |w|), or 1 where one of them is 0. */
static double lars_ratio(struct threads *threads, const struct work *work, double trust) {
    struct sums sums = {.w = work->w, .g = work->g, .count = work->count};
    double w = 0, g = 0;
    threads_run(threads, PIECES, MAX(GRAIN / (work->count / PIECES + 1), 1), sums_body, &sums);
    for (int i = 0; i < PIECES; i++) {
        w += sums.w_squares[i];
        g += sums.g_squares[i];
    }
    w = sqrt(w);
    g = sqrt(g);
    return w > 0 && g > 0 ? trust * w / (g + (double)work->decay * w) : 1;
}

static int optimizer_step_run(const struct call *call, struct error *err UNUSED) {
    static threads_body *const bodies[] = {[OPTIMIZER_STEP_PLAIN] = plain_body,
                                           [OPTIMIZER_STEP_MOMENTUM] = momentum_body,
                                           [OPTIMIZER_STEP_NESTEROV] = momentum_body,
                                           [OPTIMIZER_STEP_ADAM] = adam_body};
    int64_t kind = node_integer(call->node, "kind", OPTIMIZER_STEP_PLAIN);
    double trust = (double)node_number(call->node, "trust", 0);
    const float *numbers = call->inputs[2]->data;
    struct work work = {.w = call->inputs[0]->data,
                        .g = call->inputs[1]->data,
                        .new_w = call->outputs[0]->data,
                        .count = shape_count(&call->inputs[0]->shape),
                        .decay = node_number(call->node, "decay", 0),
                        .ratio = 1,
                        .rate = numbers[OPTIMIZER_RATE],
                        .first = numbers[OPTIMIZER_FIRST],
                        .rest_first = numbers[OPTIMIZER_REST_FIRST],
                        .second = numbers[OPTIMIZER_SECOND],
                        .rest_second = numbers[OPTIMIZER_REST_SECOND],
                        .unbias = numbers[OPTIMIZER_UNBIAS],
                        .epsilon = numbers[OPTIMIZER_EPSILON],
                        .is_nesterov = kind == OPTIMIZER_STEP_NESTEROV};
    for (int i = 0; i + 3 < call->input_count; i++) {
        work.states[i] = call->inputs[3 + i]->data;
        work.new_states[i] = call->outputs[1 + i]->data;
    }
    if (trust > 0) {
        work.ratio = (float)lars_ratio(cpu_threads(call), &work, trust);
    }
    threads_run(cpu_threads(call), work.count, GRAIN, bodies[kind], &work);
    return 0;
}
const struct kernel reference_optimizer_step = {"reference optimizer_step", optimizer_step_run};
