// SPDX-License-Identifier: Apache-2.0
/* Gradients of LSTM, GRU and RNN through time. Every sequence is run once more and leaves a record
 * of each step; then it is walked backwards, which turns slopes into gradients in place. Weights
 * get their sums at last, each in the order of the sequences, so that the number of threads does
 * not change a bit. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/gate.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/training/recurrent_lanes.h"
#include "agent/engine/ops/infer/internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_AT_ONCE = 16 }; /* whose sums stay in the first cache */

static int64_t lane_index(const struct recurrent_lane *lane) {
    return lane->direction * lane->work->r.batch + lane->sequence;
}

struct recurrent_record recurrent_record_of(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent_work *work = lane->work;
    int64_t hidden = work->r.hidden;
    float *at = work->records + (lane_index(lane) * work->r.steps + n) * work->record_size;
    float *rest = at + 2 * work->rows;
    return (struct recurrent_record){
        at, at + work->rows, rest, rest + hidden, rest + 2 * hidden, rest + 3 * hidden};
}

/* The place of the n-th step in the sequence. */
static int64_t time_of(const struct recurrent_lane *lane, int64_t n) {
    return lane->work->r.is_reverse || lane->direction == 1 ? lane->length - 1 - n : n;
}

int64_t recurrent_x_at(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent *r = &lane->work->r;
    int64_t t = time_of(lane, n);
    return (r->is_batch_first ? lane->sequence * r->steps + t : t * r->batch + lane->sequence) *
           r->input;
}

static int64_t y_at(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent *r = &lane->work->r;
    int64_t t = time_of(lane, n);
    return (r->is_batch_first ? (lane->sequence * r->steps + t) * r->directions + lane->direction
                              : (t * r->directions + lane->direction) * r->batch + lane->sequence) *
           r->hidden;
}

static int64_t state_at(const struct recurrent_lane *lane) {
    const struct recurrent *r = &lane->work->r;
    return (r->is_batch_first ? lane->sequence * r->directions + lane->direction
                              : lane_index(lane)) *
           r->hidden;
}

/* ---- forward ---- */

/* Value and slope of gate row `row`, whose function f (0), g (1) or h (2) is given `value`. */
static void note(const struct recurrent_lane *lane, const struct recurrent_record *record,
                 int64_t row, int function, float value) {
    float clip = lane->work->clip, bounded = value < -clip ? -clip : value > clip ? clip : value;
    enum recurrent_function f = lane->work->r.functions[lane->direction][function];
    record->value[row] = gate_apply(f, bounded);
    record->slope[row] = fabsf(value) > clip ? 0 : gate_slope(f, bounded);
}

/* Gates: input, output, forget, cell. */
static void forward_lstm(const struct recurrent_lane *lane, const struct recurrent_record *record) {
    const struct recurrent_work *work = lane->work;
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
static void forward_gru(const struct recurrent_lane *lane, const struct recurrent_record *record) {
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

void recurrent_forward_gates(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent_record record = recurrent_record_of(lane, n);
    int64_t hidden = lane->work->r.hidden;
    memcpy(record.h, lane->h, (size_t)hidden * sizeof(float));
    if (lane->work->r.gates == 4) {
        forward_lstm(lane, &record);
    } else if (lane->work->r.gates == 3) {
        forward_gru(lane, &record);
    } else {
        for (int64_t i = 0; i < hidden; i++) {
            note(lane, &record, i, 0, lane->x_part[i] + lane->h_part[i]);
            lane->h[i] = record.value[i];
        }
    }
}

static void forward_step(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent_work *work = lane->work;
    gate_multiply(lane->w, work->inputs[RECURRENT_X] + recurrent_x_at(lane, n), lane->b, work->rows,
                  work->r.input, lane->x_part);
    gate_multiply(lane->recurrence, lane->h, lane->b ? lane->b + work->rows : NULL, work->rows,
                  work->r.hidden, lane->h_part);
    recurrent_forward_gates(lane, n);
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
static void back_lstm(const struct recurrent_lane *lane, const struct recurrent_record *record) {
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
}

static void back_gru(const struct recurrent_lane *lane, const struct recurrent_record *record) {
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
    }
}

static void back_rnn(const struct recurrent_lane *lane, const struct recurrent_record *record) {
    for (int64_t i = 0; i < lane->work->r.hidden; i++) {
        record->slope[i] *= lane->h[i];
        lane->h[i] = 0;
    }
}

void recurrent_back_gates(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent_work *work = lane->work;
    const struct recurrent_record record = recurrent_record_of(lane, n);
    const float *dy =
        work->inputs[RECURRENT_DY] ? work->inputs[RECURRENT_DY] + y_at(lane, n) : NULL;
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
}

static void back_step(const struct recurrent_lane *lane, int64_t n) {
    const struct recurrent_work *work = lane->work;
    const struct recurrent_record record = recurrent_record_of(lane, n);
    int64_t hidden = work->r.hidden, rows = work->r.gates == 3 ? 2 * hidden : work->rows;
    recurrent_back_gates(lane, n);
    if (work->r.gates == 3 && !work->resets_first) {
        add_product(lane->recurrence + rows * hidden, record.before, hidden, hidden, lane->h);
    }
    add_product(lane->recurrence, record.slope, rows, hidden, lane->h);
    add_product(lane->w, record.slope, work->rows, work->r.input,
                work->outputs[RECURRENT_DX] + recurrent_x_at(lane, n));
}

static void take(const struct recurrent_lane *lane, int input, float *to) {
    const float *from = lane->work->inputs[input];
    size_t size = (size_t)lane->work->r.hidden * sizeof *to;
    if (from) {
        memcpy(to, from + state_at(lane), size);
    } else {
        memset(to, 0, size);
    }
}

static void copy_out(const struct recurrent_lane *lane, int output, const float *from) {
    if (lane->work->outputs[output]) {
        memcpy(lane->work->outputs[output] + state_at(lane), from,
               (size_t)lane->work->r.hidden * sizeof *from);
    }
}

size_t recurrent_lane_floats(const struct recurrent_work *work) {
    return (size_t)(2 * work->rows + 3 * work->r.hidden);
}

struct recurrent_lane recurrent_lane_of(const struct recurrent_work *work, int64_t direction,
                                        int64_t sequence) {
    const struct recurrent *r = &work->r;
    const struct tensor *lengths = work->call->inputs[RECURRENT_LENGTHS];
    int64_t length = lengths ? (int64_t)tensor_whole(lengths, sequence) : r->steps;
    float *scratch =
        work->scratch + (size_t)(direction * r->batch + sequence) * recurrent_lane_floats(work);
    return (struct recurrent_lane){
        .work = work,
        .direction = direction,
        .sequence = sequence,
        .length = MAX(0, MIN(length, r->steps)),
        .w = work->inputs[RECURRENT_W] + direction * work->rows * r->input,
        .recurrence = work->inputs[RECURRENT_R] + direction * work->rows * r->hidden,
        .b = work->inputs[RECURRENT_B] ? work->inputs[RECURRENT_B] + direction * 2 * work->rows
                                       : NULL,
        .p = work->inputs[RECURRENT_P] ? work->inputs[RECURRENT_P] + direction * 3 * r->hidden
                                       : NULL,
        .x_part = scratch,
        .h_part = scratch + work->rows,
        .h = scratch + 2 * work->rows,
        .c = scratch + 2 * work->rows + r->hidden,
        .more = scratch + 2 * work->rows + 2 * r->hidden};
}

void recurrent_start(const struct recurrent_lane *lane) {
    take(lane, RECURRENT_H0, lane->h);
    take(lane, RECURRENT_C0, lane->c);
}

void recurrent_start_back(const struct recurrent_lane *lane) {
    take(lane, RECURRENT_DH, lane->h);
    take(lane, RECURRENT_DC, lane->c);
}

void recurrent_end_back(const struct recurrent_lane *lane) {
    copy_out(lane, RECURRENT_DH0, lane->h);
    copy_out(lane, RECURRENT_DC0, lane->c);
}

/* Both directions of a sequence add to the same elements of dx. */
static void sequences_body(void *context, int64_t first, int64_t last) {
    const struct recurrent_work *work = context;
    for (int64_t index = first * work->r.directions; index < last * work->r.directions; index++) {
        struct recurrent_lane lane =
            recurrent_lane_of(work, index % work->r.directions, index / work->r.directions);
        recurrent_start(&lane);
        for (int64_t n = 0; n < lane.length; n++) {
            forward_step(&lane, n);
        }
        recurrent_start_back(&lane);
        for (int64_t n = lane.length; n-- > 0;) {
            back_step(&lane, n);
        }
        recurrent_end_back(&lane);
    }
}

/* ---- sums over sequences and steps ---- */

/* Where the gradient of the state's product of a row is, and what its matrix was multiplied by. */
static void state_part(const struct recurrent_work *work, const struct recurrent_record *record,
                       int64_t row, float *ret_gradient, const float **ret_state) {
    bool is_hidden = work->r.gates == 3 && row >= 2 * work->r.hidden;
    *ret_gradient = is_hidden && !work->resets_first ? record->before[row - 2 * work->r.hidden]
                                                     : record->slope[row];
    *ret_state = is_hidden && work->resets_first ? record->before : record->h;
}

void recurrent_add_biases(const struct recurrent_lane *lane, int64_t n, int64_t first,
                          int64_t last) {
    const struct recurrent_work *work = lane->work;
    const struct recurrent_record record = recurrent_record_of(lane, n);
    float gradient, *biases = work->outputs[RECURRENT_DB];
    const float *state;
    for (int64_t row = first; biases && row < last; row++) {
        float *pair = biases + 2 * lane->direction * work->rows + row;
        state_part(work, &record, row, &gradient, &state);
        pair[0] += record.slope[row];
        pair[work->rows] += gradient;
    }
}

static void add_step(const struct recurrent_lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct recurrent_work *work = lane->work;
    const struct recurrent_record record = recurrent_record_of(lane, n);
    const float *x = work->inputs[RECURRENT_X] + recurrent_x_at(lane, n), *state;
    float gradient;
    for (int64_t row = first; row < last; row++) {
        int64_t at = lane->direction * work->rows + row;
        state_part(work, &record, row, &gradient, &state);
        add_product(x, &record.slope[row], 1, work->r.input,
                    work->outputs[RECURRENT_DW] + at * work->r.input);
        add_product(state, &gradient, 1, work->r.hidden,
                    work->outputs[RECURRENT_DR] + at * work->r.hidden);
    }
    recurrent_add_biases(lane, n, first, last);
}

/* Peepholes of the input, output and forget gate: the first two rows of gates, and the third. */
void recurrent_add_peepholes(const struct recurrent_lane *lane, int64_t n, int64_t first,
                             int64_t last) {
    const struct recurrent_work *work = lane->work;
    const struct recurrent_record record = recurrent_record_of(lane, n);
    int64_t hidden = work->r.hidden;
    for (int64_t row = first; work->outputs[RECURRENT_DP] && row < MIN(last, 3 * hidden); row++) {
        int64_t i = row % hidden;
        const float *value = record.value;
        float cell = row / hidden == 1 ? value[2 * hidden + i] * record.before[i] +
                                             value[i] * value[3 * hidden + i]
                                       : record.before[i];
        work->outputs[RECURRENT_DP][lane->direction * 3 * hidden + row] += record.slope[row] * cell;
    }
}

/* Items are blocks of rows. */
static void rows_body(void *context, int64_t first, int64_t last) {
    const struct recurrent_work *work = context;
    int64_t blocks = (work->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (int64_t block = first; block < last; block++) {
        int64_t row = block % blocks * ROWS_AT_ONCE, end = MIN(row + ROWS_AT_ONCE, work->rows);
        for (int64_t sequence = 0; sequence < work->r.batch; sequence++) {
            struct recurrent_lane lane = recurrent_lane_of(work, block / blocks, sequence);
            for (int64_t n = 0; n < lane.length; n++) {
                add_step(&lane, n, row, end);
                recurrent_add_peepholes(&lane, n, row, end);
            }
        }
    }
}

/* ---- the kernel ---- */

static int read_call(struct recurrent_work *work, const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    for (int i = 0; i < RECURRENT_INPUTS; i++) {
        const struct tensor *input = i < call->input_count ? call->inputs[i] : NULL;
        work->inputs[i] = input && i != RECURRENT_LENGTHS ? input->data : NULL;
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

static void run_lanes(struct recurrent_work *work) {
    struct threads *threads = cpu_threads(work->call);
    int64_t blocks = (work->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    threads_run(threads, work->r.batch, 1, sequences_body, work);
    threads_run(threads, work->r.directions * blocks, 1, rows_body, work);
}

static int recurrent_gradient_run(const struct call *call, struct error *err) {
    struct recurrent_work work = {.call = call,
                                  .resets_first =
                                      !node_integer(call->node, "linear_before_reset", 0),
                                  .clip = node_number(call->node, "clip", INFINITY)};
    struct tensor records = {0}, scratch = {0};
    if (read_call(&work, call, err) < 0) {
        return -1;
    }
    const struct recurrent *r = &work.r;
    struct shape each = {2, {r->directions * r->batch, (int64_t)recurrent_lane_floats(&work)}};
    struct shape all = {3, {r->directions * r->batch, r->steps, work.record_size}};
    int result = tensor_init(&scratch, TENSOR_FLOAT32, &each, err);
    result = result < 0 ? -1 : tensor_init(&records, TENSOR_FLOAT32, &all, err);
    if (result == 0) {
        work.scratch = scratch.data;
        work.records = records.data;
        const struct cpu_device *cpu = (const struct cpu_device *)call->device;
        if (!cpu->vectors || !recurrent_groups_run(&work, cpu)) {
            run_lanes(&work);
        }
    }
    tensor_release(&scratch);
    tensor_release(&records);
    return result;
}
const struct kernel reference_recurrent_gradient = {"reference recurrent_gradient",
                                                    recurrent_gradient_run};
