// SPDX-License-Identifier: Apache-2.0
/* Gradients of LSTM, GRU and RNN through time. Every sequence is run once more and leaves a record
 * of each step; then it is walked backwards, which turns slopes into gradients in place. Weights
 * get their sums at last, each in the order of the sequences, so that the number of threads does
 * not change a bit. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/gate.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/internal.h"

#include <math.h>
#include <string.h>

/* The node's inputs: those of the forward node, then the gradients of its outputs. */
enum { X, W, R, B, LENGTHS, H0, C0, P, DY, DH, DC, INPUTS };
enum { DX, DW, DR, DB, DH0, DC0, DP };
enum { ROWS_AT_ONCE = 16 }; /* whose sums stay in the first cache */

struct work {
    struct recurrent r;
    const struct call *call;
    const float *inputs[INPUTS]; /* NULL: absent */
    float *outputs[DP + 1];
    bool resets_first; /* GRU: the reset gate acts on the state, not on its product */
    float clip;
    int64_t rows, record_size; /* gates * hidden; floats of a record */
    float *records;            /* [directions, batch, steps] */
    float *scratch;            /* per direction and sequence: 2 * rows + 3 * hidden */
};

/* One sequence in one direction. */
struct lane {
    const struct work *work;
    int64_t direction, sequence, length;
    const float *w, *recurrence, *b, *p; /* b, p: NULL if absent */
    float *x_part, *h_part;              /* [rows] */
    float *h, *c, *more;                 /* [hidden]; on the way back gradients of h and c */
};

/* Of one step. `value` and `slope` are those of the gates' functions; `slope` becomes the gradient
 * of what the functions were given. */
struct record {
    float *value, *slope; /* [rows] */
    float *h;             /* the state before */
    /* LSTM: the cell before. GRU: the state times the reset gate; with linear_before_reset the
     * state's product of the hidden gate, which becomes that product's gradient. */
    float *before;
    float *cell, *cell_slope; /* LSTM: h(cell) */
};

static struct record record_of(const struct work *work, int64_t lane, int64_t step) {
    int64_t n = work->r.hidden;
    float *at = work->records + (lane * work->r.steps + step) * work->record_size;
    float *rest = at + 2 * work->rows;
    return (struct record){at, at + work->rows, rest, rest + n, rest + 2 * n, rest + 3 * n};
}

static int64_t lane_index(const struct lane *lane) {
    return lane->direction * lane->work->r.batch + lane->sequence;
}

/* The place of the n-th step in the sequence. */
static int64_t time_of(const struct lane *lane, int64_t n) {
    return lane->work->r.is_reverse || lane->direction == 1 ? lane->length - 1 - n : n;
}

static int64_t x_at(const struct lane *lane, int64_t n) {
    const struct recurrent *r = &lane->work->r;
    int64_t t = time_of(lane, n);
    return (r->is_batch_first ? lane->sequence * r->steps + t : t * r->batch + lane->sequence) *
           r->input;
}

static int64_t y_at(const struct lane *lane, int64_t n) {
    const struct recurrent *r = &lane->work->r;
    int64_t t = time_of(lane, n);
    return (r->is_batch_first ? (lane->sequence * r->steps + t) * r->directions + lane->direction
                              : (t * r->directions + lane->direction) * r->batch + lane->sequence) *
           r->hidden;
}

static int64_t state_at(const struct lane *lane) {
    const struct recurrent *r = &lane->work->r;
    return (r->is_batch_first ? lane->sequence * r->directions + lane->direction
                              : lane_index(lane)) *
           r->hidden;
}

/* ---- forward ---- */

/* Value and slope of gate row `row`, whose function f (0), g (1) or h (2) is given `value`. */
static void note(const struct lane *lane, const struct record *record, int64_t row, int function,
                 float value) {
    float clip = lane->work->clip, bounded = value < -clip ? -clip : value > clip ? clip : value;
    enum recurrent_function f = lane->work->r.functions[lane->direction][function];
    record->value[row] = gate_apply(f, bounded);
    record->slope[row] = fabsf(value) > clip ? 0 : gate_slope(f, bounded);
}

/* Gates: input, output, forget, cell. */
static void forward_lstm(const struct lane *lane, const struct record *record) {
    const struct work *work = lane->work;
    int64_t n = work->r.hidden;
    const float *p = lane->p, *x = lane->x_part, *h = lane->h_part;
    enum recurrent_function last = work->r.functions[lane->direction][2];
    memcpy(record->before, lane->c, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        float c = lane->c[i];
        note(lane, record, i, 0, x[i] + h[i] + (p ? p[i] * c : 0));
        note(lane, record, 2 * n + i, 0, x[2 * n + i] + h[2 * n + i] + (p ? p[2 * n + i] * c : 0));
        note(lane, record, 3 * n + i, 1, x[3 * n + i] + h[3 * n + i]);
        c = record->value[2 * n + i] * c + record->value[i] * record->value[3 * n + i];
        note(lane, record, n + i, 0, x[n + i] + h[n + i] + (p ? p[n + i] * c : 0));
        record->cell[i] = gate_apply(last, c);
        record->cell_slope[i] = gate_slope(last, c);
        lane->c[i] = c;
        lane->h[i] = record->value[n + i] * record->cell[i];
    }
}

/* Gates: update, reset, hidden. */
static void forward_gru(const struct lane *lane, const struct record *record) {
    int64_t n = lane->work->r.hidden;
    float *x = lane->x_part, *h = lane->h_part;
    for (int64_t i = 0; i < 2 * n; i++) {
        note(lane, record, i, 0, x[i] + h[i]);
    }
    const float *reset = record->value + n;
    for (int64_t i = 0; i < n; i++) {
        record->before[i] = lane->work->resets_first ? reset[i] * lane->h[i] : h[2 * n + i];
    }
    if (lane->work->resets_first) {
        gate_multiply(lane->recurrence + 2 * n * n, record->before,
                      lane->b ? lane->b + 5 * n : NULL, n, n, h + 2 * n);
    }
    for (int64_t i = 0; i < n; i++) {
        float part = lane->work->resets_first ? h[2 * n + i] : reset[i] * h[2 * n + i];
        note(lane, record, 2 * n + i, 1, x[2 * n + i] + part);
        float update = record->value[i];
        lane->h[i] = (1 - update) * record->value[2 * n + i] + update * lane->h[i];
    }
}

static void forward_step(const struct lane *lane, int64_t n) {
    const struct work *work = lane->work;
    const struct record record = record_of(work, lane_index(lane), n);
    int64_t hidden = work->r.hidden;
    gate_multiply(lane->w, work->inputs[X] + x_at(lane, n), lane->b, work->rows, work->r.input,
                  lane->x_part);
    gate_multiply(lane->recurrence, lane->h, lane->b ? lane->b + work->rows : NULL, work->rows,
                  hidden, lane->h_part);
    memcpy(record.h, lane->h, (size_t)hidden * sizeof(float));
    if (work->r.gates == 4) {
        forward_lstm(lane, &record);
    } else if (work->r.gates == 3) {
        forward_gru(lane, &record);
    } else {
        for (int64_t i = 0; i < hidden; i++) {
            note(lane, &record, i, 0, lane->x_part[i] + lane->h_part[i]);
            lane->h[i] = record.value[i];
        }
    }
}

/* ---- backward ---- */

/* to[i] += sum of matrix[row, i] * vector[row] */
static void add_product(const float *matrix, const float *vector, int64_t rows, int64_t columns,
                        float *to) {
    for (int64_t row = 0; row < rows; row++) {
        const float *line = matrix + row * columns;
        float factor = vector[row];
#pragma omp simd
        for (int64_t i = 0; i < columns; i++) {
            to[i] += factor * line[i];
        }
    }
}

/* Leaves the gradient of the cell before; that of the state before begins with 0. */
static void back_lstm(const struct lane *lane, const struct record *record) {
    int64_t n = lane->work->r.hidden;
    const float *p = lane->p, *value = record->value;
    float *slope = record->slope;
    for (int64_t i = 0; i < n; i++) {
        float dh = lane->h[i];
        float out = dh * record->cell[i] * slope[n + i];
        float dc =
            lane->c[i] + dh * value[n + i] * record->cell_slope[i] + (p ? out * p[n + i] : 0);
        float in = dc * value[3 * n + i] * slope[i];
        float forget = dc * record->before[i] * slope[2 * n + i];
        slope[3 * n + i] *= dc * value[i];
        lane->c[i] = dc * value[2 * n + i] + (p ? in * p[i] + forget * p[2 * n + i] : 0);
        slope[i] = in;
        slope[n + i] = out;
        slope[2 * n + i] = forget;
        lane->h[i] = 0;
    }
    add_product(lane->recurrence, slope, 4 * n, n, lane->h);
}

static void back_gru(const struct lane *lane, const struct record *record) {
    int64_t n = lane->work->r.hidden;
    const float *reset = record->value + n, *hidden = record->value + 2 * n;
    const float *matrix = lane->recurrence + 2 * n * n; /* of the hidden gate */
    float *slope = record->slope, *product = lane->more;
    for (int64_t i = 0; i < n; i++) {
        float dh = lane->h[i], update = record->value[i];
        slope[i] *= dh * (record->h[i] - hidden[i]);
        slope[2 * n + i] *= dh * (1 - update);
        lane->h[i] = dh * update;
        product[i] = 0;
    }
    if (lane->work->resets_first) {
        add_product(matrix, slope + 2 * n, n, n, product);
        for (int64_t i = 0; i < n; i++) {
            slope[n + i] *= product[i] * record->h[i];
            lane->h[i] += product[i] * reset[i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            slope[n + i] *= slope[2 * n + i] * record->before[i];
            record->before[i] = slope[2 * n + i] * reset[i];
        }
        add_product(matrix, record->before, n, n, lane->h);
    }
    add_product(lane->recurrence, slope, 2 * n, n, lane->h);
}

static void back_rnn(const struct lane *lane, const struct record *record) {
    int64_t n = lane->work->r.hidden;
    for (int64_t i = 0; i < n; i++) {
        record->slope[i] *= lane->h[i];
        lane->h[i] = 0;
    }
    add_product(lane->recurrence, record->slope, n, n, lane->h);
}

static void back_step(const struct lane *lane, int64_t n) {
    const struct work *work = lane->work;
    const struct record record = record_of(work, lane_index(lane), n);
    const float *dy = work->inputs[DY] ? work->inputs[DY] + y_at(lane, n) : NULL;
    for (int64_t i = 0; dy && i < work->r.hidden; i++) {
        lane->h[i] += dy[i];
    }
    if (work->r.gates == 4) {
        back_lstm(lane, &record);
    } else if (work->r.gates == 3) {
        back_gru(lane, &record);
    } else {
        back_rnn(lane, &record);
    }
    add_product(lane->w, record.slope, work->rows, work->r.input,
                work->outputs[DX] + x_at(lane, n));
}

static void take(const struct lane *lane, int input, float *to) {
    const float *from = lane->work->inputs[input];
    size_t size = (size_t)lane->work->r.hidden * sizeof *to;
    if (from) {
        memcpy(to, from + state_at(lane), size);
    } else {
        memset(to, 0, size);
    }
}

static void copy_out(const struct lane *lane, int output, const float *from) {
    if (lane->work->outputs[output]) {
        memcpy(lane->work->outputs[output] + state_at(lane), from,
               (size_t)lane->work->r.hidden * sizeof *from);
    }
}

static struct lane lane_of(const struct work *work, int64_t direction, int64_t sequence) {
    const struct recurrent *r = &work->r;
    const struct tensor *lengths = work->call->inputs[LENGTHS];
    int64_t length = lengths ? (int64_t)tensor_whole(lengths, sequence) : r->steps;
    float *scratch =
        work->scratch + (direction * r->batch + sequence) * (2 * work->rows + 3 * r->hidden);
    return (struct lane){.work = work,
                         .direction = direction,
                         .sequence = sequence,
                         .length = MAX(0, MIN(length, r->steps)),
                         .w = work->inputs[W] + direction * work->rows * r->input,
                         .recurrence = work->inputs[R] + direction * work->rows * r->hidden,
                         .b = work->inputs[B] ? work->inputs[B] + direction * 2 * work->rows : NULL,
                         .p = work->inputs[P] ? work->inputs[P] + direction * 3 * r->hidden : NULL,
                         .x_part = scratch,
                         .h_part = scratch + work->rows,
                         .h = scratch + 2 * work->rows,
                         .c = scratch + 2 * work->rows + r->hidden,
                         .more = scratch + 2 * work->rows + 2 * r->hidden};
}

/* Both directions of a sequence add to the same elements of dx. */
static void sequences_body(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    for (int64_t index = first * work->r.directions; index < last * work->r.directions; index++) {
        struct lane lane = lane_of(work, index % work->r.directions, index / work->r.directions);
        take(&lane, H0, lane.h);
        take(&lane, C0, lane.c);
        for (int64_t n = 0; n < lane.length; n++) {
            forward_step(&lane, n);
        }
        take(&lane, DH, lane.h);
        take(&lane, DC, lane.c);
        for (int64_t n = lane.length; n-- > 0;) {
            back_step(&lane, n);
        }
        copy_out(&lane, DH0, lane.h);
        copy_out(&lane, DC0, lane.c);
    }
}

/* ---- sums over sequences and steps ---- */

/* Where the gradient of the state's product of a row is, and what its matrix was multiplied by. */
static void state_part(const struct work *work, const struct record *record, int64_t row,
                       float *ret_gradient, const float **ret_state) {
    bool is_hidden = work->r.gates == 3 && row >= 2 * work->r.hidden;
    *ret_gradient = is_hidden && !work->resets_first ? record->before[row - 2 * work->r.hidden]
                                                     : record->slope[row];
    *ret_state = is_hidden && work->resets_first ? record->before : record->h;
}

static void add_step(const struct lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct work *work = lane->work;
    const struct record record = record_of(work, lane_index(lane), n);
    const float *x = work->inputs[X] + x_at(lane, n), *state;
    float gradient, *biases = work->outputs[DB];
    for (int64_t row = first; row < last; row++) {
        int64_t at = lane->direction * work->rows + row;
        state_part(work, &record, row, &gradient, &state);
        add_product(x, &record.slope[row], 1, work->r.input,
                    work->outputs[DW] + at * work->r.input);
        add_product(state, &gradient, 1, work->r.hidden, work->outputs[DR] + at * work->r.hidden);
        if (biases) {
            float *pair = biases + 2 * lane->direction * work->rows + row;
            pair[0] += record.slope[row];
            pair[work->rows] += gradient;
        }
    }
}

/* Peepholes of the input, output and forget gate: the first two rows of gates, and the third. */
static void add_peepholes(const struct lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct work *work = lane->work;
    const struct record record = record_of(work, lane_index(lane), n);
    int64_t hidden = work->r.hidden;
    for (int64_t row = first; work->outputs[DP] && row < MIN(last, 3 * hidden); row++) {
        int64_t i = row % hidden;
        const float *value = record.value;
        float cell = row / hidden == 1 ? value[2 * hidden + i] * record.before[i] +
                                             value[i] * value[3 * hidden + i]
                                       : record.before[i];
        work->outputs[DP][lane->direction * 3 * hidden + row] += record.slope[row] * cell;
    }
}

/* Items are blocks of rows. */
static void rows_body(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    int64_t blocks = (work->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (int64_t block = first; block < last; block++) {
        int64_t row = block % blocks * ROWS_AT_ONCE, end = MIN(row + ROWS_AT_ONCE, work->rows);
        for (int64_t sequence = 0; sequence < work->r.batch; sequence++) {
            struct lane lane = lane_of(work, block / blocks, sequence);
            for (int64_t n = 0; n < lane.length; n++) {
                add_step(&lane, n, row, end);
                add_peepholes(&lane, n, row, end);
            }
        }
    }
}

/* ---- the kernel ---- */

static int read_call(struct work *work, const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    for (int i = 0; i < INPUTS; i++) {
        const struct tensor *input = i < call->input_count ? call->inputs[i] : NULL;
        work->inputs[i] = input && i != LENGTHS ? input->data : NULL;
    }
    for (int i = 0; i < call->output_count; i++) {
        const struct tensor *output = call->outputs[i];
        size_t size = (size_t)shape_count(&output->shape) * sizeof(float);
        bool is_wanted = call->inputs[recurrent_gradient_input(i)] != NULL;
        work->outputs[i] = is_wanted ? output->data : NULL;
        memset(output->data, 0, size);
    }
    if (recurrent_params(call->node, cpu_call_collect_facts(call, &facts), &work->r, err) < 0) {
        return -1;
    }
    work->rows = work->r.gates * work->r.hidden;
    work->record_size = recurrent_record_size(&work->r);
    return 0;
}

static int recurrent_gradient_run(const struct call *call, struct error *err) {
    struct work work = {.call = call,
                        .resets_first = !node_integer(call->node, "linear_before_reset", 0),
                        .clip = node_number(call->node, "clip", INFINITY)};
    struct tensor records = {0}, scratch = {0};
    if (read_call(&work, call, err) < 0) {
        return -1;
    }
    const struct recurrent *r = &work.r;
    struct shape each = {2, {r->directions * r->batch, 2 * work.rows + 3 * r->hidden}};
    struct shape all = {3, {r->directions * r->batch, r->steps, work.record_size}};
    int result = tensor_init(&scratch, TENSOR_FLOAT32, &each, err);
    result = result < 0 ? -1 : tensor_init(&records, TENSOR_FLOAT32, &all, err);
    if (result == 0) {
        work.scratch = scratch.data;
        work.records = records.data;
        threads_run(cpu_threads(call), r->batch, 1, sequences_body, &work);
        threads_run(cpu_threads(call),
                    r->directions * ((work.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE), 1, rows_body,
                    &work);
    }
    tensor_release(&scratch);
    tensor_release(&records);
    return result;
}
const struct kernel reference_recurrent_gradient = {"reference recurrent_gradient",
                                                    recurrent_gradient_run};
