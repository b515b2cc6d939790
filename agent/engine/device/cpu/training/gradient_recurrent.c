// SPDX-License-Identifier: Apache-2.0
/* Gradients of LSTM, GRU and RNN through time. Every sequence is run once more and leaves a record
 * of each step; then it is walked backwards, which turns slopes into gradients in place. Weights
 * get their sums at last, each in the order of the sequences, so that the number of threads does
 * not change a bit. */
#include "agent/engine/device/cpu/reference/gate.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/training/lane_groups.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/ops/infer/internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_AT_ONCE = 16 }; /* whose sums stay in the first cache */

/* ---- plain loops ---- */

static void forward_step(const struct lane *lane, int64_t n) {
    const struct lane_work *work = lane->work;
    gate_multiply(lane->w, work->inputs[LANE_X] + lane_x_at(lane, n), lane->b, work->rows,
                  work->r.input, lane->x_part);
    gate_multiply(lane->recurrence, lane->h, lane->b ? lane->b + work->rows : NULL, work->rows,
                  work->r.hidden, lane->h_part);
    lane_forward(lane, n);
}

static void back_step(const struct lane *lane, int64_t n) {
    const struct lane_work *work = lane->work;
    const struct lane_record record = lane_record_of(lane, n);
    int64_t hidden = work->r.hidden, rows = work->r.gates == 3 ? 2 * hidden : work->rows;
    lane_back(lane, n);
    if (work->r.gates == 3 && !work->resets_first) {
        lane_add_product(lane->recurrence + rows * hidden, record.before, hidden, hidden, lane->h);
    }
    lane_add_product(lane->recurrence, record.slope, rows, hidden, lane->h);
    lane_add_product(lane->w, record.slope, work->rows, work->r.input,
                     work->outputs[LANE_DX] + lane_x_at(lane, n));
}

/* Both directions of a sequence add to the same elements of dx. */
static void sequences_body(void *context, int64_t first, int64_t last) {
    const struct lane_work *work = context;
    for (int64_t index = first * work->r.directions; index < last * work->r.directions; index++) {
        struct lane lane = lane_of(work, index % work->r.directions, index / work->r.directions);
        lane_start(&lane);
        for (int64_t n = 0; n < lane.length; n++) {
            forward_step(&lane, n);
        }
        lane_start_back(&lane);
        for (int64_t n = lane.length; n-- > 0;) {
            back_step(&lane, n);
        }
        lane_end_back(&lane);
    }
}

static void add_step(const struct lane *lane, int64_t n, int64_t first, int64_t last) {
    const struct lane_work *work = lane->work;
    const struct lane_record record = lane_record_of(lane, n);
    const float *x = work->inputs[LANE_X] + lane_x_at(lane, n), *state;
    float gradient;
    for (int64_t row = first; row < last; row++) {
        int64_t at = lane->direction * work->rows + row;
        lane_state_part(work, &record, row, &gradient, &state);
        lane_add_product(x, &record.slope[row], 1, work->r.input,
                         work->outputs[LANE_DW] + at * work->r.input);
        lane_add_product(state, &gradient, 1, work->r.hidden,
                         work->outputs[LANE_DR] + at * work->r.hidden);
    }
    lane_add_biases(lane, n, first, last);
}

/* Items are blocks of rows. */
static void rows_body(void *context, int64_t first, int64_t last) {
    const struct lane_work *work = context;
    int64_t blocks = (work->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (int64_t block = first; block < last; block++) {
        int64_t row = block % blocks * ROWS_AT_ONCE, end = MIN(row + ROWS_AT_ONCE, work->rows);
        for (int64_t sequence = 0; sequence < work->r.batch; sequence++) {
            struct lane lane = lane_of(work, block / blocks, sequence);
            for (int64_t n = 0; n < lane.length; n++) {
                add_step(&lane, n, row, end);
                lane_add_peepholes(&lane, n, row, end);
            }
        }
    }
}

/* ---- the kernel ---- */

static int read_call(struct lane_work *work, const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    for (int i = 0; i < LANE_INPUTS; i++) {
        const struct tensor *input = i < call->input_count ? call->inputs[i] : NULL;
        work->inputs[i] = input && i != LANE_LENGTHS ? input->data : NULL;
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

static void run_lanes(struct lane_work *work) {
    struct threads *threads = cpu_threads(work->call);
    int64_t blocks = (work->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    threads_run(threads, work->r.batch, 1, sequences_body, work);
    threads_run(threads, work->r.directions * blocks, 1, rows_body, work);
}

static int recurrent_gradient_run(const struct call *call, struct error *err) {
    /* (A node that a GPU leaves to the host has no device.) */
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    bool has_vectors = cpu && cpu->vectors;
    struct lane_work work = {.call = call,
                             .loops = has_vectors ? chain_loops_get(cpu->vectors->isa)
                                                  : &chain_loops_plain,
                             .resets_first = !node_integer(call->node, "linear_before_reset", 0),
                             .clip = node_number(call->node, "clip", INFINITY)};
    struct tensor records = {0}, scratch = {0};
    if (read_call(&work, call, err) < 0) {
        return -1;
    }
    const struct recurrent *r = &work.r;
    struct shape each = {2, {r->directions * r->batch, (int64_t)lane_floats(&work)}};
    struct shape all = {3, {r->directions * r->batch, r->steps, work.record_size}};
    int result = tensor_init(&scratch, TENSOR_FLOAT32, &each, err);
    result = result < 0 ? -1 : tensor_init(&records, TENSOR_FLOAT32, &all, err);
    if (result == 0) {
        work.scratch = scratch.data;
        work.records = records.data;
        if (!has_vectors || !lane_groups_run(&work, cpu)) {
            run_lanes(&work);
        }
    }
    tensor_release(&scratch);
    tensor_release(&records);
    return result;
}
const struct kernel reference_recurrent_gradient = {"reference recurrent_gradient",
                                                    recurrent_gradient_run};
