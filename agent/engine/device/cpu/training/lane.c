// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/training/lane.h"

#include "agent/engine/device/cpu/reference/gate.h"

#include <math.h>
#include <string.h>

void lane_add_product(const float *matrix, const float *vector, int64_t rows, int64_t columns,
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

static int64_t lane_index(const struct lane *lane) {
    return lane->direction * lane->work->r.batch + lane->sequence;
}

struct lane_record lane_record_of(const struct lane *lane, int64_t n) {
    const struct lane_work *work = lane->work;
    int64_t hidden = work->r.hidden;
    float *at = work->records + (lane_index(lane) * work->r.steps + n) * work->record_size;
    float *rest = at + 2 * work->rows;
    return (struct lane_record){
        at, at + work->rows, rest, rest + hidden, rest + 2 * hidden, rest + 3 * hidden};
}

/* The place of the n-th step in the sequence. */
static int64_t time_of(const struct lane *lane, int64_t n) {
    return lane->work->r.is_reverse || lane->direction == 1 ? lane->length - 1 - n : n;
}

int64_t lane_x_at(const struct lane *lane, int64_t n) {
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

/* What the function is given becomes its values, and `slope` its slopes there. */
static void apply(const struct lane *lane, int function, float *value, float *slope,
                  int64_t count) {
    enum recurrent_function f = lane->work->r.functions[lane->direction][function];
    struct chain_args args = {
        .rows = 1, .columns = (int)count, .out = value, .in = {{value, 0, 1}}};
    if (f == RECURRENT_SIGMOID) {
        lane->work->loops->run[CHAIN_SIGMOID](&args);
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            slope[i] = value[i] * (1 - value[i]);
        }
    } else if (f == RECURRENT_TANH) {
        lane->work->loops->run[CHAIN_TANH](&args);
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            slope[i] = 1 - value[i] * value[i];
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            slope[i] = gate_slope(f, value[i]);
            value[i] = gate_apply(f, value[i]);
        }
    }
}

/* Rows first.. of the gates: the record's values are what function f (0) or g (1) is given. */
static void note(const struct lane *lane, const struct lane_record *record, int64_t first,
                 int64_t count, int function) {
    float *value = record->value + first, *slope = record->slope + first;
    float clip = lane->work->clip;
    if (isinf(clip)) {
        apply(lane, function, value, slope, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float given = value[i];
        value[i] = given < -clip ? -clip : given > clip ? clip : given;
        apply(lane, function, value + i, slope + i, 1);
        slope[i] = fabsf(given) > clip ? 0 : slope[i];
    }
}

static void add(const float *a, const float *b, int64_t count, float *to) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        to[i] = a[i] + b[i];
    }
}

/* Adds a peephole's share: p is NULL if the node has none. */
static void add_peephole(const float *p, const float *cell, int64_t count, float *to) {
    for (int64_t i = 0; p && i < count; i++) {
        to[i] += p[i] * cell[i];
    }
}

/* Gates: input, output, forget, cell. The output gate's peephole sees the new cell. */
static void forward_lstm(const struct lane *lane, const struct lane_record *record) {
    int64_t n = lane->work->r.hidden;
    const float *p = lane->p;
    float *value = record->value, *c = lane->c, *h = lane->h;
    memcpy(record->before, c, (size_t)n * sizeof *c);
    add(lane->x_part, lane->h_part, 4 * n, value);
    add_peephole(p, c, n, value);
    add_peephole(p ? p + 2 * n : NULL, c, n, value + 2 * n);
    note(lane, record, 0, n, 0);
    note(lane, record, 2 * n, n, 0);
    note(lane, record, 3 * n, n, 1);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        c[i] = value[2 * n + i] * c[i] + value[i] * value[3 * n + i];
    }
    add_peephole(p ? p + n : NULL, c, n, value + n);
    note(lane, record, n, n, 0);
    memcpy(record->cell, c, (size_t)n * sizeof *c);
    apply(lane, 2, record->cell, record->cell_slope, n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        h[i] = value[n + i] * record->cell[i];
    }
}

/* Gates: update, reset, hidden. */
static void forward_gru(const struct lane *lane, const struct lane_record *record) {
    int64_t n = lane->work->r.hidden;
    float *x = lane->x_part, *h = lane->h_part;
    add(x, h, 2 * n, record->value);
    note(lane, record, 0, 2 * n, 0);
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
        record->value[2 * n + i] = x[2 * n + i] + part;
    }
    note(lane, record, 2 * n, n, 1);
    for (int64_t i = 0; i < n; i++) {
        float update = record->value[i];
        lane->h[i] = (1 - update) * record->value[2 * n + i] + update * lane->h[i];
    }
}

void lane_forward(const struct lane *lane, int64_t n) {
    const struct lane_record record = lane_record_of(lane, n);
    int64_t hidden = lane->work->r.hidden;
    memcpy(record.h, lane->h, (size_t)hidden * sizeof(float));
    if (lane->work->r.gates == 4) {
        forward_lstm(lane, &record);
    } else if (lane->work->r.gates == 3) {
        forward_gru(lane, &record);
    } else {
        add(lane->x_part, lane->h_part, hidden, record.value);
        note(lane, &record, 0, hidden, 0);
        memcpy(lane->h, record.value, (size_t)hidden * sizeof(float));
    }
}

/* ---- backward ---- */

/* Leaves the gradient of the cell before; that of the state before begins with 0. */
static void back_lstm(const struct lane *lane, const struct lane_record *record) {
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

static void back_gru(const struct lane *lane, const struct lane_record *record) {
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
        lane_add_product(matrix, slope + 2 * n, n, n, product);
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

static void back_rnn(const struct lane *lane, const struct lane_record *record) {
    for (int64_t i = 0; i < lane->work->r.hidden; i++) {
        record->slope[i] *= lane->h[i];
        lane->h[i] = 0;
    }
}

void lane_back(const struct lane *lane, int64_t n) {
    const struct lane_work *work = lane->work;
    const struct lane_record record = lane_record_of(lane, n);
    const float *dy = work->inputs[LANE_DY] ? work->inputs[LANE_DY] + y_at(lane, n) : NULL;
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

size_t lane_floats(const struct lane_work *work) {
    return (size_t)(2 * work->rows + 3 * work->r.hidden);
}

struct lane lane_of(const struct lane_work *work, int64_t direction, int64_t sequence) {
    const struct recurrent *r = &work->r;
    const struct tensor *lengths = work->call->inputs[LANE_LENGTHS];
    int64_t length = lengths ? (int64_t)tensor_whole(lengths, sequence) : r->steps;
    float *scratch = work->scratch + (size_t)(direction * r->batch + sequence) * lane_floats(work);
    return (struct lane){
        .work = work,
        .direction = direction,
        .sequence = sequence,
        .length = MAX(0, MIN(length, r->steps)),
        .w = work->inputs[LANE_W] + direction * work->rows * r->input,
        .recurrence = work->inputs[LANE_R] + direction * work->rows * r->hidden,
        .b = work->inputs[LANE_B] ? work->inputs[LANE_B] + direction * 2 * work->rows : NULL,
        .p = work->inputs[LANE_P] ? work->inputs[LANE_P] + direction * 3 * r->hidden : NULL,
        .x_part = scratch,
        .h_part = scratch + work->rows,
        .h = scratch + 2 * work->rows,
        .c = scratch + 2 * work->rows + r->hidden,
        .more = scratch + 2 * work->rows + 2 * r->hidden};
}

void lane_start(const struct lane *lane) {
    take(lane, LANE_H0, lane->h);
    take(lane, LANE_C0, lane->c);
}

void lane_start_back(const struct lane *lane) {
    take(lane, LANE_DH, lane->h);
    take(lane, LANE_DC, lane->c);
}

void lane_end_back(const struct lane *lane) {
    copy_out(lane, LANE_DH0, lane->h);
    copy_out(lane, LANE_DC0, lane->c);
}

/* ---- sums over sequences and steps ---- */

void lane_state_part(const struct lane_work *work, const struct lane_record *record, int64_t row,
                     float *ret_gradient, const float **ret_state) {
    bool is_hidden = work->r.gates == 3 && row >= 2 * work->r.hidden;
    *ret_gradient = is_hidden && !work->resets_first ? record->before[row - 2 * work->r.hidden]
                                                     : record->slope[row];
    *ret_state = is_hidden && work->resets_first ? record->before : record->h;
}

void lane_add_biases(const struct lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct lane_work *work = lane->work;
    const struct lane_record record = lane_record_of(lane, n);
    float gradient, *biases = work->outputs[LANE_DB];
    const float *state;
    for (int64_t row = first; biases && row < last; row++) {
        float *pair = biases + 2 * lane->direction * work->rows + row;
        lane_state_part(work, &record, row, &gradient, &state);
        pair[0] += record.slope[row];
        pair[work->rows] += gradient;
    }
}

/* Peepholes of the input, output and forget gate: the first two rows of gates, and the third. */
void lane_add_peepholes(const struct lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct lane_work *work = lane->work;
    const struct lane_record record = lane_record_of(lane, n);
    int64_t hidden = work->r.hidden;
    for (int64_t row = first; work->outputs[LANE_DP] && row < MIN(last, 3 * hidden); row++) {
        int64_t i = row % hidden;
        const float *value = record.value;
        float cell = row / hidden == 1 ? value[2 * hidden + i] * record.before[i] +
                                             value[i] * value[3 * hidden + i]
                                       : record.before[i];
        work->outputs[LANE_DP][lane->direction * 3 * hidden + row] += record.slope[row] * cell;
    }
}
