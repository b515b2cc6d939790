// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/onednn/pieces.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/table.h"

#include <stdatomic.h>
#include <stdlib.h>

/* More pieces would use more processors. But each piece sums the gradients of all weights
 * separately; in layers with small activations, which have most weights, that takes longer than the
 * rest. */
enum { PIECES_MAX = 4, PIECES_OF_FEW = 2, PIXELS_MANY = 1536, SAMPLES_MIN = 2 };
enum { OPERANDS_MAX = 3, OUTPUTS_MAX = 2, ALIGNMENT = 64, ADD_GRAIN = 16384 };

struct pieces {
    int count;
    struct onednn onednn[PIECES_MAX]; /* each with a separate stream */
    struct primitive *primitives[PIECES_MAX];
    bool sums;            /* outputs are sums over the batch, so each piece makes partial ones */
    size_t piece_scratch; /* bytes of a piece: the primitive's, then its sums */
    size_t sum_offset[OUTPUTS_MAX];
    /* The operand that all pieces share, if its format differs: the weights, reordered once for all
     * of them to `shared_offset`; or their gradient, which each piece leaves in its scratch. -1:
     * none. */
    int shared;
    size_t shared_offset;
};

/* The step's operands with one sample per row: indices of inputs, and whether output 0 is one. */
struct rows_of {
    int input_count, inputs[2];
    bool output;
};

static bool rows_of(const struct step *step, struct rows_of *ret_rows) {
    switch (step->node->op->id) {
    case OP_CONV:
    case OP_CONV_GRADIENT_INPUT:
        *ret_rows = (struct rows_of){1, {0}, true};
        return true;
    case OP_CONV_GRADIENT_WEIGHTS:
        *ret_rows = (struct rows_of){2, {0, 2}, false};
        return true;
    default:
        return false;
    }
}

int pieces_count(const struct schedule *schedule, const struct step *step) {
    struct rows_of rows;
    bool has_shape = step->node->op->id != OP_CONV;
    if (!rows_of(step, &rows) || step->input_count > OPERANDS_MAX ||
        step->output_count > OUTPUTS_MAX) {
        return 1;
    }
    for (int i = 0; i < step->input_count; i++) {
        if (step->inputs[i] >= 0 && !(i == 1 && has_shape) &&
            schedule->slots[step->inputs[i]].place == PLACE_CONSTANT) {
            return 1;
        }
    }
    const struct shape *activation = &schedule->slots[step->inputs[0]].shape;
    int64_t samples = activation->dims[0], pixels = samples;
    for (int i = 2; i < activation->rank; i++) {
        pixels *= activation->dims[i];
    }
    int count = pixels < (int64_t)PIECES_MAX * PIXELS_MANY ? PIECES_OF_FEW : PIECES_MAX;
    while (count > 1 && (samples % count != 0 || samples / count < SAMPLES_MIN)) {
        count--;
    }
    return count;
}

static void set_samples(struct schedule *schedule, const struct step *step,
                        const struct rows_of *rows, int64_t samples) {
    for (int i = 0; i < rows->input_count; i++) {
        schedule->slots[step->inputs[rows->inputs[i]]].shape.dims[0] = samples;
    }
    if (rows->output) {
        schedule->slots[step->outputs[0]].shape.dims[0] = samples;
    }
}

void pieces_free(void *state) {
    struct pieces *pieces = state;
    for (int i = 0; pieces && i < pieces->count; i++) {
        primitive_free(pieces->primitives[i]);
        dnnl.stream_destroy(pieces->onednn[i].stream);
    }
    free(pieces);
}

static size_t aligned(size_t size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static dnnl_status_t make_primitives(struct onednn *onednn, struct schedule *schedule,
                                     const struct step *step, request_fill *fill,
                                     const struct request_options *options, struct pieces *pieces) {
    struct request request = {.options = *options};
    if (!fill(schedule, step, &request)) {
        return dnnl_unimplemented;
    }
    for (int i = 0; i < pieces->count; i++) {
        struct onednn *own = &pieces->onednn[i];
        *own = (struct onednn){.engine = onednn->engine};
        dnnl_status_t status =
            dnnl.stream_create(&own->stream, own->engine, dnnl_stream_default_flags);
        if (status == dnnl_success) {
            status = primitive_new(own, schedule, step, &request, &pieces->primitives[i]);
        }
        if (status != dnnl_success) {
            return status;
        }
    }
    return dnnl_success;
}

/* Whether the operand is the same for all pieces. */
static bool is_of_all(const struct rows_of *rows, const struct primitive_operand *operand) {
    int input = operand->arg.input;
    if (input <= REQUEST_OUTPUT) {
        return input == REQUEST_OUTPUT && !rows->output;
    }
    return input != rows->inputs[0] && (rows->input_count < 2 || input != rows->inputs[1]);
}

static void find_shared(struct pieces *pieces, const struct rows_of *rows) {
    const struct primitive *primitive = pieces->primitives[0];
    pieces->shared = -1;
    for (int i = 0; i < primitive->operand_count; i++) {
        const struct primitive_operand *operand = &primitive->operands[i];
        if (operand->wanted && !operand->is_kept && is_of_all(rows, operand)) {
            pieces->shared = i;
        }
    }
}

dnnl_status_t pieces_new(struct onednn *onednn, struct schedule *schedule, const struct step *step,
                         request_fill *fill, const struct request_options *options,
                         struct pieces **ret_pieces) {
    struct rows_of rows;
    struct pieces *pieces = x_calloc(1, sizeof *pieces);
    int64_t samples = schedule->slots[step->inputs[0]].shape.dims[0];
    pieces->count = pieces_count(schedule, step);
    if (!rows_of(step, &rows)) {
        free(pieces);
        return dnnl_unimplemented;
    }
    pieces->sums = !rows.output;
    set_samples(schedule, step, &rows, samples / pieces->count);
    dnnl_status_t status = make_primitives(onednn, schedule, step, fill, options, pieces);
    set_samples(schedule, step, &rows, samples);
    if (status != dnnl_success) {
        pieces_free(pieces);
        return status;
    }
    find_shared(pieces, &rows);
    pieces->piece_scratch = aligned(pieces->primitives[0]->scratch_bytes);
    for (int i = 0; pieces->sums && i < step->output_count; i++) {
        bool is_shared = i == 0 && pieces->shared >= 0; /* the primitive's scratch has it */
        pieces->sum_offset[i] = pieces->piece_scratch;
        pieces->piece_scratch +=
            is_shared ? 0 : aligned(schedule->slots[step->outputs[i]].size_bytes);
    }
    pieces->shared_offset = pieces->piece_scratch * (size_t)pieces->count;
    *ret_pieces = pieces;
    return dnnl_success;
}

size_t pieces_scratch_bytes(const struct pieces *pieces) {
    bool is_made = pieces->shared >= 0 && !pieces->sums;
    return pieces->shared_offset +
           (is_made ? pieces->primitives[0]->operands[pieces->shared].size : 0);
}

struct pieces_work {
    const struct pieces *pieces;
    const struct call *call;
    struct rows_of rows;
    atomic_int status;
};

/* Where the shared operand of piece `index` is in its own format. */
static struct primitive_elsewhere elsewhere(const struct pieces *pieces, const struct call *call,
                                            int index) {
    size_t offset = pieces->shared_offset;
    if (pieces->sums) {
        offset = (size_t)index * pieces->piece_scratch +
                 pieces->primitives[0]->operands[pieces->shared].offset;
    }
    return (struct primitive_elsewhere){pieces->shared, (char *)call->scratch + offset};
}

/* The call as piece `index` sees it. */
static dnnl_status_t run_piece(const struct pieces_work *work, int index) {
    const struct pieces *pieces = work->pieces;
    struct tensor inputs[OPERANDS_MAX], outputs[OUTPUTS_MAX];
    const struct tensor *inputs_at[OPERANDS_MAX];
    struct tensor *outputs_at[OUTPUTS_MAX];
    struct call call = *work->call;
    call.scratch = (char *)call.scratch + (size_t)index * pieces->piece_scratch;
    for (int i = 0; i < call.input_count; i++) {
        bool has_rows =
            i == work->rows.inputs[0] || (work->rows.input_count > 1 && i == work->rows.inputs[1]);
        inputs_at[i] = call.inputs[i];
        if (has_rows) {
            inputs[i] = *call.inputs[i];
            int64_t piece = shape_count(&inputs[i].shape) / pieces->count;
            inputs[i].data = (float *)inputs[i].data + index * piece;
            inputs_at[i] = &inputs[i];
        }
    }
    for (int i = 0; i < call.output_count; i++) {
        outputs[i] = *call.outputs[i];
        int64_t piece = shape_count(&outputs[i].shape) / pieces->count;
        outputs[i].data = pieces->sums ? (void *)((char *)call.scratch + pieces->sum_offset[i])
                                       : (float *)outputs[i].data + index * piece;
        outputs_at[i] = &outputs[i];
    }
    call.inputs = inputs_at;
    call.outputs = outputs_at;
    omp.set_num_threads(1); /* of this thread */
    if (pieces->shared < 0) {
        return primitive_run(pieces->primitives[index], &call, NULL);
    }
    struct primitive_elsewhere shared = elsewhere(pieces, work->call, index);
    return primitive_run(pieces->primitives[index], &call, &shared);
}

static void pieces_body(void *context, int64_t first, int64_t last) {
    struct pieces_work *work = context;
    for (int64_t i = first; i < last; i++) {
        dnnl_status_t status = run_piece(work, (int)i);
        if (status != dnnl_success) {
            atomic_store(&work->status, (int)status);
        }
    }
}

struct adding {
    const struct pieces *pieces;
    const float *from; /* of the first piece */
    float *to;         /* may be `from` */
};

static void add_body(void *context, int64_t first, int64_t last) {
    const struct adding *adding = context;
    size_t step = adding->pieces->piece_scratch / sizeof(float);
    for (int k = adding->from == adding->to; k < adding->pieces->count; k++) {
        const float *from = adding->from + (size_t)k * step;
#pragma omp simd
        for (int64_t i = first; i < last; i++) {
            adding->to[i] = k == 0 ? from[i] : adding->to[i] + from[i];
        }
    }
}

/* The sum of an output over the pieces. */
static dnnl_status_t add_pieces(const struct pieces *pieces, const struct call *call, int output) {
    int64_t count = shape_count(&call->outputs[output]->shape);
    struct adding adding = {.pieces = pieces, .to = call->outputs[output]->data};
    if (output > 0 || pieces->shared < 0) {
        adding.from =
            (const float *)(const void *)((const char *)call->scratch + pieces->sum_offset[output]);
        threads_run(cpu_threads(call), count, ADD_GRAIN, add_body, &adding);
        return dnnl_success;
    }
    struct primitive_elsewhere sum = elsewhere(pieces, call, 0);
    adding.from = adding.to = sum.memory;
    count = (int64_t)(pieces->primitives[0]->operands[pieces->shared].size / sizeof(float));
    threads_run(cpu_threads(call), count, ADD_GRAIN, add_body, &adding);
    return primitive_reorder(pieces->primitives[0], call, &sum);
}

dnnl_status_t pieces_run(const struct pieces *pieces, const struct call *call) {
    struct pieces_work work = {.pieces = pieces, .call = call};
    struct step step = {.node = call->node};
    rows_of(&step, &work.rows);
    omp.set_num_threads(1);
    if (pieces->shared >= 0 && !pieces->sums) {
        struct primitive_elsewhere weights = elsewhere(pieces, call, 0);
        dnnl_status_t status = primitive_reorder(pieces->primitives[0], call, &weights);
        if (status != dnnl_success) {
            return status;
        }
    }
    threads_run(cpu_threads(call), pieces->count, 1, pieces_body, &work);
    dnnl_status_t status = (dnnl_status_t)atomic_load(&work.status);
    for (int i = 0; pieces->sums && i < call->output_count && status == dnnl_success; i++) {
        status = add_pieces(pieces, call, i);
    }
    return status;
}
