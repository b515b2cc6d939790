// SPDX-License-Identifier: Apache-2.0
/* Products of matrices: of a group's states with R in each step, of all steps of a sequence with W,
 * and for the weights' gradients. How sequences are grouped does not depend on the threads, so
 * their number does not change a bit. */
#include "agent/engine/device/cpu/training/lane_groups.h"

#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/product/multiply.h"

#include <string.h>

enum {
    GROUP = 16,         /* sequences */
    ROWS_AT_ONCE = 64,  /* of a product's left matrix */
    GATE_ROWS = 96,     /* of the weights' gradients, which a thread computes at once */
    STEPS_AT_ONCE = 512 /* whose products are summed at once for the weights' gradients */
};
enum { SIZE_MOST = 1 << 24 };

/* The right matrices of a direction. */
struct matrices {
    struct factor x, h;           /* W', R' */
    struct factor back_x, back_h; /* W, R */
    struct factor back_hidden;    /* GRU: the rows of R of the hidden gate, which back_h lacks */
};

struct groups {
    const struct lane_work *work;
    const struct vector_ops *ops;
    struct matrices matrices[RECURRENT_DIRECTIONS_MAX];
    float *scratch; /* of each thread */
    size_t packed_floats, tile_floats, thread_floats;
};

/* ---- matrices -------------------------------------------------------------------------------- */

static float *writable(const float *data) {
    return (float *)(uintptr_t)data; /* struct matrix is for operands and results */
}

/* The right matrix [k, columns]. NULL `to`: only its size. */
static size_t add_factor(const struct vector_ops *ops, struct matrix matrix, int64_t k,
                         int64_t columns, struct factor *factor, float *to) {
    *factor = (struct factor){.matrix = matrix, .k = (int)k, .columns = (int)columns};
    if (to) {
        multiply_pack(ops, factor, to);
    }
    return multiply_packed_floats(ops, (int)k, (int)columns);
}

static struct matrix matrix_of(const float *data, int64_t row, int64_t column) {
    return (struct matrix){writable(data), row, column};
}

/* Returns the floats of all packed matrices. */
static size_t pack(struct groups *g, float *to) {
    const struct lane_work *work = g->work;
    int64_t n = work->r.hidden, input = work->r.input;
    int64_t rows = work->rows, back = work->r.gates == 3 ? 2 * n : rows;
    size_t at = 0;
    for (int64_t d = 0; d < work->r.directions; d++) {
        const float *w = work->inputs[LANE_W] + d * rows * input;
        const float *r = work->inputs[LANE_R] + d * rows * n;
        struct matrices *m = &g->matrices[d];
        at += add_factor(g->ops, matrix_of(w, 1, input), input, rows, &m->x, to ? to + at : NULL);
        at += add_factor(g->ops, matrix_of(r, 1, n), n, rows, &m->h, to ? to + at : NULL);
        at += add_factor(g->ops, matrix_of(w, input, 1), rows, input, &m->back_x,
                         to ? to + at : NULL);
        at += add_factor(g->ops, matrix_of(r, n, 1), back, n, &m->back_h, to ? to + at : NULL);
        if (back < rows) {
            at += add_factor(g->ops, matrix_of(r + back * n, n, 1), n, n, &m->back_hidden,
                             to ? to + at : NULL);
        }
    }
    return at;
}

/* out [+]= a b, with a of any number of rows. */
static void multiply(const struct groups *g, struct matrix a, int64_t rows, struct factor b,
                     struct matrix out, int lane) {
    float *tile = g->scratch + (size_t)lane * g->thread_floats + g->packed_floats;
    float *room = tile + g->tile_floats;
    for (int64_t first = 0; first < rows; first += ROWS_AT_ONCE) {
        int count = (int)MIN(ROWS_AT_ONCE, rows - first);
        struct lines from = multiply_lines(g->ops, &a, count, b.k, tile);
        multiply_rows(g->ops, &from, count, &b, &out, room);
        a.data += ROWS_AT_ONCE * a.row;
        out.data += ROWS_AT_ONCE * out.row;
    }
}

static struct factor adding(const struct factor *factor, bool adds) {
    struct factor result = *factor;
    result.adds = adds;
    return result;
}

/* x or dx of the steps from n on; a row is a step. */
static struct matrix steps_of_x(const struct lane *lane, const float *x, int64_t n) {
    int64_t at = lane_x_at(lane, n);
    return (struct matrix){writable(x) + at, lane_x_at(lane, n + 1) - at, 1};
}

/* ---- through time ---------------------------------------------------------------------------- */

/* Bias and product of x with W, as values of the records. */
static void prepare_x(const struct groups *g, const struct lane *lane, int thread) {
    const struct lane_work *work = g->work;
    for (int64_t n = 0; lane->b && n < work->r.steps; n++) {
        memcpy(lane_record_of(lane, n).value, lane->b, (size_t)work->rows * sizeof(float));
    }
    const struct factor *w = &g->matrices[lane->direction].x;
    struct matrix to = {lane_record_of(lane, 0).value, work->record_size, 1};
    multiply(g, steps_of_x(lane, work->inputs[LANE_X], 0), work->r.steps,
             adding(w, lane->b != NULL), to, thread);
}

static void step_forward(const struct groups *g, struct lane *lanes, int count, int64_t n,
                         int thread) {
    const struct lane_work *work = g->work;
    int64_t stride = (int64_t)lane_floats(work);
    bool has_bias = lanes[0].b;
    for (int i = 0; i < count; i++) {
        lanes[i].x_part = lane_record_of(&lanes[i], n).value;
        if (has_bias) {
            memcpy(lanes[i].h_part, lanes[i].b + work->rows, (size_t)work->rows * sizeof(float));
        }
    }
    multiply(g, (struct matrix){lanes[0].h, stride, 1}, count,
             adding(&g->matrices[lanes[0].direction].h, has_bias),
             (struct matrix){lanes[0].h_part, stride, 1}, thread);
    for (int i = 0; i < count; i++) {
        lane_forward(&lanes[i], n);
    }
}

static void step_back(const struct groups *g, const struct lane *lanes, int count, int64_t n,
                      int thread) {
    const struct lane_work *work = g->work;
    const struct matrices *m = &g->matrices[lanes[0].direction];
    const struct lane_record record = lane_record_of(&lanes[0], n);
    int64_t next = work->r.steps * work->record_size; /* the next sequence's record */
    struct matrix to = {lanes[0].h, (int64_t)lane_floats(work), 1};
    for (int i = 0; i < count; i++) {
        lane_back(&lanes[i], n);
    }
    multiply(g, (struct matrix){record.slope, next, 1}, count, adding(&m->back_h, true), to,
             thread);
    if (work->r.gates == 3) {
        multiply(g, (struct matrix){record.before, next, 1}, count, adding(&m->back_hidden, true),
                 to, thread);
    }
}

static void run_direction(const struct groups *g, int64_t direction, int64_t first, int thread) {
    const struct lane_work *work = g->work;
    struct lane lanes[GROUP];
    int count = (int)MIN(GROUP, work->r.batch - first);
    for (int i = 0; i < count; i++) {
        lanes[i] = lane_of(work, direction, first + i);
        lane_start(&lanes[i]);
        prepare_x(g, &lanes[i], thread);
    }
    for (int64_t n = 0; n < work->r.steps; n++) {
        step_forward(g, lanes, count, n, thread);
    }
    for (int i = 0; i < count; i++) {
        lane_start_back(&lanes[i]);
    }
    for (int64_t n = work->r.steps; n-- > 0;) {
        step_back(g, lanes, count, n, thread);
    }
    for (int i = 0; i < count; i++) {
        struct matrix slopes = {lane_record_of(&lanes[i], 0).slope, work->record_size, 1};
        lane_end_back(&lanes[i]);
        multiply(g, slopes, work->r.steps, adding(&g->matrices[direction].back_x, true),
                 steps_of_x(&lanes[i], work->outputs[LANE_DX], 0), thread);
    }
}

/* Both directions of a sequence add to the same elements of dx. */
static void run_group(void *context, int index, int thread) {
    const struct groups *g = context;
    for (int64_t direction = 0; direction < g->work->r.directions; direction++) {
        run_direction(g, direction, (int64_t)index * GROUP, thread);
    }
}

/* ---- the weights' gradients ------------------------------------------------------------------ */

/* Rows of one gate. */
struct gate_rows {
    int64_t first, count;
    bool is_hidden; /* the hidden gate of a GRU */
};

static void add_steps(const struct groups *g, const struct lane *lane, const struct gate_rows *rows,
                      int64_t n, int thread) {
    const struct lane_work *work = g->work;
    int64_t input = work->r.input, hidden = work->r.hidden;
    const struct lane_record record = lane_record_of(lane, n);
    int64_t steps = MIN(STEPS_AT_ONCE, work->r.steps - n);
    int64_t at = lane->direction * work->rows + rows->first;
    float *packed = g->scratch + (size_t)thread * g->thread_floats;
    struct matrix slopes = {record.slope + rows->first, 1, work->record_size};
    struct factor x = {.matrix = steps_of_x(lane, work->inputs[LANE_X], n),
                       .k = (int)steps,
                       .columns = (int)input,
                       .adds = true};
    multiply_pack(g->ops, &x, packed);
    multiply(g, slopes, rows->count, x,
             (struct matrix){work->outputs[LANE_DW] + at * input, input, 1}, thread);
    struct factor h = {.matrix = {record.h, work->record_size, 1},
                       .k = (int)steps,
                       .columns = (int)hidden,
                       .adds = true};
    slopes.data = rows->is_hidden ? record.before + rows->first - 2 * hidden : slopes.data;
    multiply_pack(g->ops, &h, packed);
    multiply(g, slopes, rows->count, h,
             (struct matrix){work->outputs[LANE_DR] + at * hidden, hidden, 1}, thread);
}

static int64_t blocks_of_gate(const struct lane_work *work) {
    return (work->r.hidden + GATE_ROWS - 1) / GATE_ROWS;
}

static void run_rows(void *context, int index, int thread) {
    const struct groups *g = context;
    const struct lane_work *work = g->work;
    int64_t blocks = blocks_of_gate(work), gate = index / blocks % work->r.gates;
    int64_t block = index % blocks * GATE_ROWS, direction = index / blocks / work->r.gates;
    const struct gate_rows rows = {.first = gate * work->r.hidden + block,
                                   .count = MIN(GATE_ROWS, work->r.hidden - block),
                                   .is_hidden = work->r.gates == 3 && gate == 2};
    for (int64_t sequence = 0; sequence < work->r.batch; sequence++) {
        const struct lane lane = lane_of(work, direction, sequence);
        for (int64_t n = 0; n < work->r.steps; n += STEPS_AT_ONCE) {
            add_steps(g, &lane, &rows, n, thread);
        }
        for (int64_t n = 0; n < work->r.steps; n++) {
            lane_add_biases(&lane, n, rows.first, rows.first + rows.count);
            lane_add_peepholes(&lane, n, rows.first, rows.first + rows.count);
        }
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static bool takes(const struct lane_work *work) {
    const struct recurrent *r = &work->r;
    return !work->call->inputs[LANE_LENGTHS] && !(r->gates == 3 && work->resets_first) &&
           r->steps > 0 && r->batch > 0 && r->input > 0 && r->hidden > 0 && r->batch <= SIZE_MOST &&
           work->rows <= SIZE_MOST && r->input <= SIZE_MOST;
}

static void plan(struct groups *g) {
    const struct lane_work *work = g->work;
    int most = (int)MAX(MAX(work->rows, work->r.input), STEPS_AT_ONCE);
    int columns = (int)MAX(work->r.hidden, work->r.input);
    int steps = (int)MIN(STEPS_AT_ONCE, work->r.steps);
    g->packed_floats = multiply_packed_floats(g->ops, steps, columns);
    g->tile_floats = (multiply_tile_floats(ROWS_AT_ONCE, most) + 15) / 16 * 16;
    g->thread_floats =
        g->packed_floats + g->tile_floats + multiply_room_floats(g->ops, ROWS_AT_ONCE);
}

bool lane_groups_run(const struct lane_work *work, const struct cpu_device *cpu) {
    struct groups g = {.work = work, .ops = cpu->vectors};
    struct tensor memory = {0};
    struct error err = {0};
    if (!takes(work)) {
        return false;
    }
    plan(&g);
    size_t packed = (pack(&g, NULL) + 15) / 16 * 16;
    size_t scratch = g.thread_floats * (size_t)threads_count(cpu->threads);
    struct shape shape = {1, {(int64_t)(packed + scratch)}};
    if (tensor_init(&memory, TENSOR_FLOAT32, &shape, &err) < 0) {
        error_clear(&err);
        return false;
    }
    pack(&g, memory.data);
    g.scratch = (float *)memory.data + packed;
    int64_t groups = (work->r.batch + GROUP - 1) / GROUP;
    parallel_for(cpu->threads, (int)groups, run_group, &g);
    parallel_for(cpu->threads, (int)(work->r.directions * work->r.gates * blocks_of_gate(work)),
                 run_rows, &g);
    tensor_release(&memory);
    return true;
}
