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
    float decay, keep, trust, ratio; /* keep: the share of w that decoupled decay leaves */
    float rate, beta1, one_minus_beta1, beta2, one_minus_beta2, bias_correction1, bias_correction2,
        epsilon;
    float scale, limit; /* of gradients */
    bool is_nesterov;
    double w_squares[PIECES], u_squares[PIECES];
};

/* The clipped gradient. Comparisons, because fminf would hide NaN. */
static inline float clipped(float g, float scale, float limit) {
    float scaled = scale * g;
    return scaled > limit ? limit : scaled < -limit ? -limit : scaled;
}

static void plain_body(void *context, int64_t from, int64_t to) {
    const struct work work = *(const struct work *)context;
    const float *w = work.w, *g = work.g;
    float *new_w = work.new_w;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = clipped(g[i], work.scale, work.limit) + work.decay * w[i];
        new_w[i] = work.keep * w[i] - work.rate * d;
    }
}

static void momentum_body(void *context, int64_t from, int64_t to) {
    const struct work work = *(const struct work *)context;
    const float *w = work.w, *g = work.g, *v = work.states[0];
    float *new_w = work.new_w, *new_v = work.new_states[0];
    float ahead = work.is_nesterov ? work.beta1 : 1, own = work.is_nesterov ? 1 : 0;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = work.ratio * (clipped(g[i], work.scale, work.limit) + work.decay * w[i]);
        float velocity = work.beta1 * v[i] + d;
        new_v[i] = velocity;
        new_w[i] = work.keep * w[i] - work.rate * (own * d + ahead * velocity);
    }
}

static void adam_body(void *context, int64_t from, int64_t to) {
    const struct work work = *(const struct work *)context;
    const float *w = work.w, *g = work.g, *m = work.states[0], *s = work.states[1];
    float *new_w = work.new_w, *new_m = work.new_states[0], *new_s = work.new_states[1];
    float rate = work.rate * work.bias_correction1;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = clipped(g[i], work.scale, work.limit) + work.decay * w[i];
        float mean = work.beta1 * m[i] + work.one_minus_beta1 * d;
        float square = work.beta2 * s[i] + work.one_minus_beta2 * d * d;
        new_m[i] = mean;
        new_s[i] = square;
        new_w[i] =
            work.keep * w[i] - rate * mean / (sqrtf(square) * work.bias_correction2 + work.epsilon);
    }
}

static void square_body(void *context, int64_t from, int64_t to) {
    const struct work work = *(const struct work *)context;
    const float *w = work.w, *g = work.g, *s = work.states[0];
    float *new_w = work.new_w, *new_s = work.new_states[0];
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float d = clipped(g[i], work.scale, work.limit) + work.decay * w[i];
        float square = work.beta2 * s[i] + work.one_minus_beta2 * d * d;
        new_s[i] = square;
        new_w[i] = work.keep * w[i] - work.rate * d / (sqrtf(square) + work.epsilon);
    }
}

/* ---- ratios of norms ------------------------------------------------------------------------ */

static int64_t piece_begin(int64_t count, int64_t piece) {
    return count * piece / PIECES;
}

/* LARS: the squares of w and of the clipped g. */
static void lars_sums_body(void *context, int64_t first, int64_t last) {
    struct work *work = context;
    for (int64_t piece = first; piece < last; piece++) {
        double w = 0, g = 0;
        int64_t to = piece_begin(work->count, piece + 1);
        for (int64_t i = piece_begin(work->count, piece); i < to; i++) {
            double own = (double)clipped(work->g[i], work->scale, work->limit);
            w += (double)work->w[i] * (double)work->w[i];
            g += own * own;
        }
        work->w_squares[piece] = w;
        work->u_squares[piece] = g;
    }
}

/* LAMB's update before its ratio, from the new moments. */
static inline float lamb_update(const struct work *work, float w, float mean, float square) {
    return work->bias_correction1 * mean /
               (sqrtf(square) * work->bias_correction2 + work->epsilon) +
           work->decay * w;
}

/* LAMB: the new moments, and the squares of w and u. */
static void lamb_sums_body(void *context, int64_t first, int64_t last) {
    struct work *work = context;
    for (int64_t piece = first; piece < last; piece++) {
        double w = 0, u = 0;
        int64_t to = piece_begin(work->count, piece + 1);
        for (int64_t i = piece_begin(work->count, piece); i < to; i++) {
            float d = clipped(work->g[i], work->scale, work->limit);
            float mean = work->beta1 * work->states[0][i] + work->one_minus_beta1 * d;
            float square = work->beta2 * work->states[1][i] + work->one_minus_beta2 * d * d;
            double update = (double)lamb_update(work, work->w[i], mean, square);
            work->new_states[0][i] = mean;
            work->new_states[1][i] = square;
            w += (double)work->w[i] * (double)work->w[i];
            u += update * update;
        }
        work->w_squares[piece] = w;
        work->u_squares[piece] = u;
    }
}

static void lamb_body(void *context, int64_t from, int64_t to) {
    const struct work *work = context;
    float step = work->rate * work->ratio;
    for (int64_t i = from; i < to; i++) {
        float u = lamb_update(work, work->w[i], work->new_states[0][i], work->new_states[1][i]);
        work->new_w[i] = work->w[i] - step * u;
    }
}

static void run_pieces(struct threads *threads, int64_t count, threads_body *body, void *context) {
    threads_run(threads, PIECES, MAX(GRAIN / (count / PIECES + 1), 1), body, context);
}

/* trust |w| / (|u| + decay |w|), or 1 where one of them is 0. decay: of LARS; LAMB's u has it. */
static float ratio_of(const struct work *work, double decay) {
    double w = 0, u = 0;
    for (int i = 0; i < PIECES; i++) {
        w += work->w_squares[i];
        u += work->u_squares[i];
    }
    w = sqrt(w);
    u = sqrt(u);
    return w > 0 && u > 0 ? (float)((double)work->trust * w / (u + decay * w)) : 1;
}

/* ---- the step ------------------------------------------------------------------------------- */

static void read_call(const struct call *call, struct work *work) {
    const float *numbers = call->inputs[2]->data;
    float factor = node_number(call->node, "factor", 1);
    *work = (struct work){.w = call->inputs[0]->data,
                          .g = call->inputs[1]->data,
                          .new_w = call->outputs[0]->data,
                          .count = shape_count(&call->inputs[0]->shape),
                          .decay = node_number(call->node, "decay", 0),
                          .trust = node_number(call->node, "trust", 0),
                          .ratio = 1,
                          .rate = factor * numbers[OPTIMIZER_RATE],
                          .beta1 = numbers[OPTIMIZER_BETA1],
                          .one_minus_beta1 = numbers[OPTIMIZER_ONE_MINUS_BETA1],
                          .beta2 = numbers[OPTIMIZER_BETA2],
                          .one_minus_beta2 = numbers[OPTIMIZER_ONE_MINUS_BETA2],
                          .bias_correction1 = numbers[OPTIMIZER_BIAS_CORRECTION1],
                          .bias_correction2 = numbers[OPTIMIZER_BIAS_CORRECTION2],
                          .epsilon = numbers[OPTIMIZER_EPSILON],
                          .scale = numbers[OPTIMIZER_GRADIENT],
                          .limit = numbers[OPTIMIZER_LIMIT]};
    work->keep = 1 - work->rate * node_number(call->node, "decoupled_decay", 0);
    for (int i = 0; i + 3 < call->input_count; i++) {
        work->states[i] = call->inputs[3 + i]->data;
        work->new_states[i] = call->outputs[1 + i]->data;
    }
}

static int optimizer_step_run(const struct call *call, struct error *err UNUSED) {
    static threads_body *const bodies[] = {
        [OPTIMIZER_STEP_PLAIN] = plain_body,       [OPTIMIZER_STEP_MOMENTUM] = momentum_body,
        [OPTIMIZER_STEP_NESTEROV] = momentum_body, [OPTIMIZER_STEP_ADAM] = adam_body,
        [OPTIMIZER_STEP_LAMB] = lamb_body,         [OPTIMIZER_STEP_SQUARE] = square_body};
    int64_t kind = node_integer(call->node, "kind", OPTIMIZER_STEP_PLAIN);
    struct threads *threads = cpu_threads(call);
    struct work work;
    read_call(call, &work);
    work.is_nesterov = kind == OPTIMIZER_STEP_NESTEROV;
    if (kind == OPTIMIZER_STEP_LAMB) {
        run_pieces(threads, work.count, lamb_sums_body, &work);
        work.ratio = work.trust > 0 ? ratio_of(&work, 0) : 1;
    } else if (work.trust > 0) {
        run_pieces(threads, work.count, lars_sums_body, &work);
        work.ratio = ratio_of(&work, (double)work.decay);
    }
    threads_run(threads, work.count, GRAIN, bodies[kind], &work);
    return 0;
}
const struct kernel reference_optimizer_step = {"reference optimizer_step", optimizer_step_run};

/* ---- the norm of all gradients -------------------------------------------------------------- */

struct norm {
    const float *x;
    int64_t count;
    double squares[PIECES];
};

static void norm_body(void *context, int64_t first, int64_t last) {
    struct norm *norm = context;
    for (int64_t piece = first; piece < last; piece++) {
        double sum = 0;
        int64_t to = piece_begin(norm->count, piece + 1);
        for (int64_t i = piece_begin(norm->count, piece); i < to; i++) {
            sum += (double)norm->x[i] * (double)norm->x[i];
        }
        norm->squares[piece] = sum;
    }
}

static int global_norm_run(const struct call *call, struct error *err UNUSED) {
    struct norm norm = {.x = call->inputs[0]->data, .count = shape_count(&call->inputs[0]->shape)};
    double sum = 0;
    run_pieces(cpu_threads(call), norm.count, norm_body, &norm);
    for (int i = 0; i < PIECES; i++) {
        sum += norm.squares[i];
    }
    *(float *)call->outputs[0]->data = (float)sqrt(sum);
    return 0;
}
const struct kernel reference_global_norm = {"reference global_norm", global_norm_run};
