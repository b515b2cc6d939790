// SPDX-License-Identifier: Apache-2.0
/* RNN, GRU and LSTM. */
#include "agent/engine/ops/infer/recurrent.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/gate.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>
#include <string.h>

struct work {
    struct recurrent r;
    const struct call *call;
    bool resets_first; /* GRU: the reset gate acts on the state, not on its product */
    float clip;        /* the bound of the inputs of activations */
    float *scratch;    /* per direction and sequence: gates of x, gates of the state, state, cell */
};

/* One sequence in one direction. */
struct lane {
    const struct work *work;
    int64_t direction, sequence;
    const float *w, *recurrence, *b, *p; /* b, p: NULL if absent */
    float *x_part, *h_part; /* [gates * hidden]: products of the input and of the state */
    float *h, *c;
};

static const float *input_data(const struct call *call, int index) {
    return index < call->input_count && call->inputs[index] ? call->inputs[index]->data : NULL;
}

/* NaN stays NaN; fminf would drop it. */
static float clipped(const struct work *work, float value) {
    return value < -work->clip ? -work->clip : value > work->clip ? work->clip : value;
}

/* The specification's f (0) or g (1) of the lane's direction. */
static float gate(const struct lane *lane, int function, float value) {
    const struct recurrent *r = &lane->work->r;
    return gate_apply(r->functions[lane->direction][function], clipped(lane->work, value));
}

/* Gates: input, output, forget, cell. Peepholes: the first three of them. */
static void step_lstm(const struct lane *lane) {
    const struct work *work = lane->work;
    int64_t n = work->r.hidden;
    const float *p = lane->p;
    for (int64_t i = 0; i < n; i++) {
        const float *x = lane->x_part + i, *h = lane->h_part + i;
        float before = lane->c[i];
        float in = gate(lane, 0, x[0] + h[0] + (p ? p[i] * before : 0));
        float forget = gate(lane, 0, x[2 * n] + h[2 * n] + (p ? p[2 * n + i] * before : 0));
        float cell = forget * before + in * gate(lane, 1, x[3 * n] + h[3 * n]);
        float out = gate(lane, 0, x[n] + h[n] + (p ? p[n + i] * cell : 0));
        lane->c[i] = cell;
        lane->h[i] = out * gate_apply(work->r.functions[lane->direction][2], cell);
    }
}

/* Gates: update, reset, hidden. */
static void step_gru(const struct lane *lane) {
    const struct work *work = lane->work;
    int64_t n = work->r.hidden;
    float *x = lane->x_part, *h = lane->h_part;
    for (int64_t i = 0; i < 2 * n; i++) {
        x[i] = gate(lane, 0, x[i] + h[i]);
    }
    if (work->resets_first) {
        float *reset = h; /* h is not needed any more */
        for (int64_t i = 0; i < n; i++) {
            reset[i] = x[n + i] * lane->h[i];
        }
        gate_multiply(lane->recurrence + 2 * n * n, reset, lane->b ? lane->b + 5 * n : NULL, n, n,
                      h + 2 * n);
    }
    for (int64_t i = 0; i < n; i++) {
        float reset = work->resets_first ? 1 : x[n + i];
        float next = gate(lane, 1, x[2 * n + i] + reset * h[2 * n + i]);
        lane->h[i] = (1 - x[i]) * next + x[i] * lane->h[i];
    }
}

static void step_rnn(const struct lane *lane) {
    for (int64_t i = 0; i < lane->work->r.hidden; i++) {
        lane->h[i] = gate(lane, 0, lane->x_part[i] + lane->h_part[i]);
    }
}

static void step(const struct lane *lane, const float *x) {
    const struct recurrent *r = &lane->work->r;
    int64_t rows = r->gates * r->hidden;
    gate_multiply(lane->w, x, lane->b, rows, r->input, lane->x_part);
    gate_multiply(lane->recurrence, lane->h, lane->b ? lane->b + rows : NULL, rows, r->hidden,
                  lane->h_part);
    if (r->gates == 4) {
        step_lstm(lane);
    } else if (r->gates == 3) {
        step_gru(lane);
    } else {
        step_rnn(lane);
    }
}

/* The offset of the lane in a tensor of states. */
static int64_t state_at(const struct lane *lane) {
    const struct recurrent *r = &lane->work->r;
    return (r->is_batch_first ? lane->sequence * r->directions + lane->direction
                              : lane->direction * r->batch + lane->sequence) *
           r->hidden;
}

static void put(const struct lane *lane, int output, int64_t at, const float *from) {
    const struct call *call = lane->work->call;
    if (output < call->output_count && call->outputs[output]) {
        float *to = (float *)call->outputs[output]->data + at;
        size_t size = (size_t)lane->work->r.hidden * sizeof *to;
        if (from) {
            memcpy(to, from, size);
        } else {
            memset(to, 0, size);
        }
    }
}

/* Steps after the end of the sequence give zeros. */
static void run_lane(const struct lane *lane) {
    const struct recurrent *r = &lane->work->r;
    const struct call *call = lane->work->call;
    const struct tensor *lengths = call->input_count > 4 ? call->inputs[4] : NULL;
    int64_t length = lengths ? (int64_t)tensor_whole(lengths, lane->sequence) : r->steps;
    length = MAX(0, MIN(length, r->steps));
    bool is_backwards = r->is_reverse || lane->direction == 1;
    for (int64_t n = 0; n < r->steps; n++) {
        int64_t t = is_backwards && n < length ? length - 1 - n : n;
        int64_t x_at =
            r->is_batch_first ? lane->sequence * r->steps + t : t * r->batch + lane->sequence;
        int64_t y_at = r->is_batch_first
                           ? (lane->sequence * r->steps + t) * r->directions + lane->direction
                           : (t * r->directions + lane->direction) * r->batch + lane->sequence;
        if (n < length) {
            step(lane, (const float *)call->inputs[0]->data + x_at * r->input);
        }
        put(lane, 0, y_at * r->hidden, n < length ? lane->h : NULL);
    }
    put(lane, 1, state_at(lane), lane->h);
    put(lane, 2, state_at(lane), lane->c);
}

static void lanes_body(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    const struct recurrent *r = &work->r;
    int64_t rows = r->gates * r->hidden;
    const float *b = input_data(work->call, 3), *p = input_data(work->call, 7);
    for (int64_t index = first; index < last; index++) {
        int64_t d = index / r->batch;
        float *scratch = work->scratch + index * 2 * (rows + r->hidden);
        struct lane lane = {.work = work,
                            .direction = d,
                            .sequence = index % r->batch,
                            .w = input_data(work->call, 1) + d * rows * r->input,
                            .recurrence = input_data(work->call, 2) + d * rows * r->hidden,
                            .b = b ? b + d * 2 * rows : NULL,
                            .p = p ? p + d * 3 * r->hidden : NULL,
                            .x_part = scratch,
                            .h_part = scratch + rows,
                            .h = scratch + 2 * rows,
                            .c = scratch + 2 * rows + r->hidden};
        const float *h = input_data(work->call, 5), *c = input_data(work->call, 6);
        if (h) {
            memcpy(lane.h, h + state_at(&lane), (size_t)r->hidden * sizeof *h);
        }
        if (c) {
            memcpy(lane.c, c + state_at(&lane), (size_t)r->hidden * sizeof *c);
        }
        run_lane(&lane);
    }
}

static int recurrent_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    struct work work = {.call = call,
                        .resets_first = !node_integer(call->node, "linear_before_reset", 0),
                        .clip = node_number(call->node, "clip", INFINITY)};
    struct tensor scratch;
    if (recurrent_params(call->node, cpu_call_collect_facts(call, &facts), &work.r, err) < 0) {
        return -1;
    }
    const struct recurrent *r = &work.r;
    struct shape shape = {3, {r->directions, r->batch, 2 * (r->gates + 1) * r->hidden}};
    if (tensor_init(&scratch, TENSOR_FLOAT32, &shape, err) < 0) {
        return -1;
    }
    work.scratch = scratch.data;
    threads_run(cpu_threads(call), r->directions * r->batch, 1, lanes_body, &work);
    tensor_release(&scratch);
    return 0;
}
const struct kernel reference_recurrent = {"reference recurrent", recurrent_run};
