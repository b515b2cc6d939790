// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/rnn/rnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/chain/chain_loops.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/ops/infer/recurrent.h"
#include "agent/engine/ops/table.h"

enum { GATES_MAX = 4, CHUNK_FLOATS = 1 << 19 /* of the gates of some time steps */ };

/* In the order in which the kernel reads them. */
struct rnn_weights {
    struct conv_weights *w[RECURRENT_DIRECTIONS_MAX][GATES_MAX];
    struct conv_weights *recurrence[RECURRENT_DIRECTIONS_MAX][GATES_MAX];
};

/* As they come: W, R, and B or NULL. */
struct rnn_source {
    const float *w, *recurrence, *b;
};

struct rnn_step {
    struct recurrent r;
    bool resets_first; // GRU: the reset gate acts on the state, not on its product
    bool is_lasting;   // the weights are constants, and `weights` is borrowed from the cache
    struct rnn_weights weights;
    int parts;  // of the batch, for each direction
    int most;   // sequences of a part
    int blocks; // of lanes, for `hidden`
    int chunk;  // time steps whose products with W are made at once
    size_t gate_floats, state_floats, lane_floats;
};

/* ---- preparing ------------------------------------------------------------------------------- */

static const float *lasting_input(const struct schedule *schedule, const struct step *step,
                                  int index) {
    int slot = index < step->input_count ? step->inputs[index] : -1;
    const struct schedule_slot *from = slot < 0 ? NULL : &schedule->slots[slot];
    return from && from->is_lasting && from->type == TENSOR_FLOAT32 ? from->constant : NULL;
}

static bool has_input(const struct step *step, int index) {
    return index < step->input_count && step->inputs[index] >= 0;
}

static bool has_floats(const struct schedule *schedule, const struct step *step, int index) {
    return has_input(step, index) && schedule->slots[step->inputs[index]].type == TENSOR_FLOAT32;
}

static bool has_loop(enum recurrent_function function) {
    return function == RECURRENT_SIGMOID || function == RECURRENT_TANH ||
           function == RECURRENT_RELU || function == RECURRENT_HARD_SIGMOID;
}

static bool functions_fit(const struct recurrent *r) {
    bool fits = true;
    for (int d = 0; d < r->directions; d++) {
        fits = fits && has_loop(r->functions[d][0]);
        fits = fits && (r->gates == 1 || has_loop(r->functions[d][1]));
        fits = fits && (r->gates < 4 || has_loop(r->functions[d][2]));
    }
    return fits;
}

static bool read_params(const struct schedule *schedule, const struct step *step,
                        struct recurrent *ret_r) {
    struct node_facts facts;
    struct error err = {0};
    if (recurrent_params(step->node, schedule_facts(schedule, step->node, &facts), ret_r, &err) <
        0) {
        error_clear(&err);
        return false;
    }
    const struct recurrent *r = ret_r;
    int64_t values = r->steps * r->batch * MAX(r->hidden, r->input) * r->gates;
    return values > 0 && values < INT32_MAX && !r->is_batch_first &&
           schedule->slots[step->inputs[0]].type == TENSOR_FLOAT32 && functions_fit(r);
}

static struct conv_weights *reordered(const struct cpu_device *cpu,
                                      const struct conv_source *source, int columns, int hidden) {
    struct conv_shape shape = {
        .n = 1, .channels_in = columns, .channels_out = hidden, .kernel_h = 1, .kernel_w = 1};
    return conv_weights_new(cpu->vectors, &shape, CONV_DIRECT, true, source);
}

// Whose node's constants they are, so that they are packed once. NULL: they are packed for one run.
struct packing {
    const struct cpu_device *cpu;
    const struct node *node;
};

// W or R of a gate, [hidden, columns], with a bias.
static struct conv_weights *packed(const struct packing *packing, const struct conv_source *source,
                                   int columns, int hidden, bool is_recurrence) {
    if (!packing->node) {
        return reordered(packing->cpu, source, columns, hidden);
    }
    // One constant may be W and R.
    const void *which = is_recurrence ? source->weights : NULL;
    struct weights_key key = {.node = packing->node,
                              .weights = source->weights,
                              .norm = which,
                              .algorithm = CONV_DIRECT,
                              .planar = true};
    struct conv_weights *made = weights_cache_get(packing->cpu->weights, &key);
    if (!made) {
        made = reordered(packing->cpu, source, columns, hidden);
        weights_cache_put(packing->cpu->weights, &key, made);
    }
    return made;
}

// Both biases are added to the product with W, but for the one of a GRU's state that the reset gate
// multiplies.
static void pack(const struct packing *packing, const struct rnn_source *from,
                 const struct rnn_step *state, struct rnn_weights *to) {
    const struct recurrent *r = &state->r;
    const float *b = from->b;
    int64_t rows = r->gates * r->hidden;
    float *sum = x_calloc((size_t)r->hidden, sizeof *sum);
    float *own = x_calloc((size_t)r->hidden, sizeof *own);
    for (int d = 0; d < r->directions; d++) {
        for (int g = 0; g < r->gates; g++) {
            bool is_apart = r->gates == 3 && g == 2 && !state->resets_first;
            int64_t at = d * rows + g * r->hidden;
            for (int64_t i = 0; i < r->hidden; i++) {
                float first = b ? b[2 * d * rows + g * r->hidden + i] : 0;
                float second = b ? b[(2 * d + 1) * rows + g * r->hidden + i] : 0;
                sum[i] = first + (is_apart ? 0 : second);
                own[i] = is_apart ? second : 0;
            }
            const struct conv_source of_x = {.weights = from->w + at * r->input, .bias = sum};
            const struct conv_source of_h = {.weights = from->recurrence + at * r->hidden,
                                             .bias = own};
            int hidden = (int)r->hidden;
            to->w[d][g] = packed(packing, &of_x, (int)r->input, hidden, false);
            to->recurrence[d][g] = packed(packing, &of_h, hidden, hidden, true);
        }
    }
    free(sum);
    free(own);
}

static void release(struct rnn_weights *weights) {
    for (int d = 0; d < RECURRENT_DIRECTIONS_MAX; d++) {
        for (int g = 0; g < GATES_MAX; g++) {
            conv_weights_free(weights->w[d][g]);
            conv_weights_free(weights->recurrence[d][g]);
        }
    }
}

static void plan(const struct cpu_device *cpu, struct rnn_step *state, struct step *step) {
    const struct recurrent *r = &state->r;
    int b = cpu->vectors->block, threads = threads_count(cpu->threads);
    int wanted = (threads + (int)r->directions - 1) / (int)r->directions;
    // A part of one sequence would be summed in another order, so that bits depended on threads.
    state->parts = (int)MAX(MIN(r->batch / 2, wanted), 1);
    state->most = (int)((r->batch + state->parts - 1) / state->parts);
    state->blocks = (int)((r->hidden + b - 1) / b);
    size_t per_step = (size_t)state->blocks * (size_t)b * (size_t)state->most;
    state->chunk = (int)MAX(1, MIN((size_t)r->steps, CHUNK_FLOATS / ((size_t)r->gates * per_step)));
    state->state_floats = per_step;
    state->gate_floats = per_step * (size_t)state->chunk;
    // Gates; cell or blocked state, room for a product, room for results; the state in rows, twice.
    state->lane_floats = (size_t)r->gates * state->gate_floats + 3 * per_step +
                         2 * (size_t)state->most * (size_t)r->hidden;
    state->lane_floats = (state->lane_floats + 15) / 16 * 16;
    step->scratch_bytes = (size_t)threads * state->lane_floats * sizeof(float);
}

void rnn_step_try(struct cpu_device *cpu, const struct schedule *schedule, struct step *step) {
    int id = step->node->op->id;
    struct recurrent r;
    bool takes = (id == OP_LSTM || id == OP_GRU || id == OP_RNN) && read_params(schedule, step, &r);
    takes = takes && has_floats(schedule, step, 1) && has_floats(schedule, step, 2) &&
            (!has_input(step, 3) || has_floats(schedule, step, 3)) && !has_input(step, 4) &&
            !has_input(step, 7) && isinf(node_number(step->node, "clip", INFINITY));
    if (!takes) {
        return;
    }
    struct rnn_step *state = x_calloc(1, sizeof *state);
    state->r = r;
    state->resets_first = !node_integer(step->node, "linear_before_reset", 0);
    struct rnn_source from = {lasting_input(schedule, step, 1), lasting_input(schedule, step, 2),
                              lasting_input(schedule, step, 3)};
    state->is_lasting = from.w && from.recurrence && (from.b || !has_input(step, 3));
    if (state->is_lasting) {
        pack(&(struct packing){cpu, step->node}, &from, state, &state->weights);
    }
    plan(cpu, state, step);
    step->state = state;
    step->release = free;
    step->kernel = &fast_recurrent;
}

bool rnn_step_has_packed(const struct step *step) {
    return ((const struct rnn_step *)step->state)->is_lasting;
}

/* ---- running --------------------------------------------------------------------------------- */

struct run {
    const struct call *call;
    const struct rnn_step *step;
    const struct rnn_weights *weights;
    const struct vector_ops *ops;
    const struct chain_loops *loops;
};

/* Some sequences in one direction. */
struct part {
    const struct run *run;
    int direction, first, count;  // sequences
    float *gates;                 // of a chunk: [gates][blocks][steps][count][lanes]
    int chunk;                    // steps in it
    float *cell, *product, *room; // [blocks][count][lanes]
    float *h, *reset;             // [count][hidden]
};

/* A matrix in blocks: block i at data + i * stride, count * lanes floats of it. */
struct blocked {
    float *data;
    size_t stride;
};

/* Rows of a matrix, adjacent ones. */
struct rows {
    const float *data;
    int count, columns;
};

// out = the rows times the weights, plus the bias, or plus what is there.
static void multiply(const struct part *part, struct rows in, const struct conv_weights *weights,
                     struct blocked out, bool adds) {
    const struct run *run = part->run;
    const ptrdiff_t runs[1] = {0};
    int b = run->ops->block;
    for (int i = 0; i < run->step->blocks; i += DIRECT_BLOCKS_MAX) {
        int blocks = MIN(DIRECT_BLOCKS_MAX, run->step->blocks - i);
        struct direct_job job = {
            .width = in.count,
            .rows = 1,
            .blocks = blocks,
            .in = in.data,
            .pixel = (size_t)in.columns,
            .runs = runs,
            .run_count = 1,
            .run_length = in.columns,
            .weights = weights->data + (size_t)(i * b) * (size_t)in.columns,
            .bias = adds ? NULL : weights->bias + i * b,
            .low = -INFINITY,
            .high = INFINITY,
            .out = out.data + (size_t)i * out.stride,
            .out_block = out.stride,
        };
        job.add = adds ? job.out : NULL;
        run->ops->direct(&job);
    }
}

static void loop(const struct part *part, struct chain_args args, enum chain_op op) {
    part->run->loops->run[op](&args);
}

static struct chain_operand operand(struct blocked from) {
    return (struct chain_operand){from.data, (ptrdiff_t)from.stride, 1};
}

// For `gates` adjacent gates.
static struct chain_args args_of(const struct part *part, struct blocked out, int gates) {
    return (struct chain_args){.rows = gates * part->run->step->blocks,
                               .columns = part->count * part->run->ops->block,
                               .out = out.data,
                               .out_row_step = (ptrdiff_t)out.stride};
}

static void two(const struct part *part, enum chain_op op, struct blocked a, struct blocked b,
                struct blocked out) {
    struct chain_args args = args_of(part, out, 1);
    args.in[0] = operand(a);
    args.in[1] = operand(b);
    loop(part, args, op);
}

// Gate `g` of a time step of the chunk.
static struct blocked gate_at(const struct part *part, int g, int step) {
    int b = part->run->ops->block;
    size_t stride = (size_t)(part->chunk * part->count * b);
    return (struct blocked){part->gates + (size_t)g * (size_t)part->run->step->blocks * stride +
                                (size_t)(step * part->count * b),
                            stride};
}

static struct blocked state_of(const struct part *part, float *data) {
    return (struct blocked){data, (size_t)(part->count * part->run->ops->block)};
}

static void activate(const struct part *part, int function, struct blocked from, struct blocked to,
                     int gates) {
    struct chain_args args = args_of(part, to, gates);
    args.in[0] = operand(from);
    switch (part->run->step->r.functions[part->direction][function]) {
    case RECURRENT_SIGMOID:
        loop(part, args, CHAIN_SIGMOID);
        break;
    case RECURRENT_RELU:
        args.p = 0;
        args.q = INFINITY;
        loop(part, args, CHAIN_CLIP);
        break;
    case RECURRENT_HARD_SIGMOID:
        args.p = 0.2F;
        args.q = 0.5F;
        loop(part, args, CHAIN_AFFINE);
        args.in[0] = operand(to);
        args.p = 0;
        args.q = 1;
        loop(part, args, CHAIN_CLIP);
        break;
    default:
        loop(part, args, CHAIN_TANH);
    }
}

// Blocks to rows [count][hidden] and back.
static void to_rows(const struct part *part, struct blocked from, float *rows) {
    int b = part->run->ops->block, hidden = (int)part->run->step->r.hidden;
    for (int i = 0; i < part->run->step->blocks; i++) {
        for (int k = 0; k < part->count; k++) {
            memcpy(rows + (size_t)k * (size_t)hidden + i * b,
                   from.data + (size_t)i * from.stride + k * b,
                   (size_t)MIN(b, hidden - i * b) * sizeof *rows);
        }
    }
}

static void from_rows(const struct part *part, const float *rows, struct blocked to) {
    int b = part->run->ops->block, hidden = (int)part->run->step->r.hidden;
    for (int i = 0; i < part->run->step->blocks; i++) {
        for (int k = 0; k < part->count; k++) {
            memcpy(to.data + (size_t)i * to.stride + k * b,
                   rows + (size_t)k * (size_t)hidden + i * b,
                   (size_t)MIN(b, hidden - i * b) * sizeof *rows);
        }
    }
}

static struct rows state_rows(const struct part *part, const float *data) {
    return (struct rows){data, part->count, (int)part->run->step->r.hidden};
}

static void add_states(const struct part *part, int step, int first, int last) {
    for (int g = first; g < last; g++) {
        multiply(part, state_rows(part, part->h),
                 part->run->weights->recurrence[part->direction][g], gate_at(part, g, step), true);
    }
}

/* Gates: input, output, forget, cell. */
static void step_lstm(const struct part *part, int step) {
    struct blocked in = gate_at(part, 0, step), out = gate_at(part, 1, step);
    struct blocked forget = gate_at(part, 2, step), next = gate_at(part, 3, step);
    struct blocked cell = state_of(part, part->cell), room = state_of(part, part->room);
    add_states(part, step, 0, 4);
    activate(part, 0, in, in, 3);
    activate(part, 1, next, next, 1);
    two(part, CHAIN_MUL, in, next, next);
    two(part, CHAIN_MUL, forget, cell, cell);
    two(part, CHAIN_ADD, cell, next, cell);
    activate(part, 2, cell, room, 1);
    two(part, CHAIN_MUL, out, room, room);
    to_rows(part, room, part->h);
}

/* Gates: update, reset, hidden. The cell has the state in blocks. */
static void step_gru(const struct part *part, int step) {
    const struct rnn_step *state = part->run->step;
    struct blocked update = gate_at(part, 0, step), reset = gate_at(part, 1, step);
    struct blocked next = gate_at(part, 2, step), room = state_of(part, part->room);
    struct blocked before = state_of(part, part->cell), product = state_of(part, part->product);
    const struct conv_weights *weights = part->run->weights->recurrence[part->direction][2];
    add_states(part, step, 0, 2);
    activate(part, 0, update, update, 2);
    if (state->resets_first) {
        two(part, CHAIN_MUL, reset, before, room);
        to_rows(part, room, part->reset);
        multiply(part, state_rows(part, part->reset), weights, next, true);
    } else {
        multiply(part, state_rows(part, part->h), weights, product, false);
        two(part, CHAIN_MUL, reset, product, product);
        two(part, CHAIN_ADD, next, product, next);
    }
    activate(part, 1, next, next, 1);
    // (1 - update) next + update before = next + update (before - next)
    two(part, CHAIN_SUB, before, next, room);
    two(part, CHAIN_MUL, update, room, room);
    two(part, CHAIN_ADD, next, room, before);
    to_rows(part, before, part->h);
}

static void step_rnn(const struct part *part, int step) {
    struct blocked next = gate_at(part, 0, step);
    add_states(part, step, 0, 1);
    activate(part, 0, next, next, 1);
    to_rows(part, next, part->h);
}

// The products of the inputs of time steps [first, first + chunk).
static void multiply_inputs(const struct part *part, int first) {
    const struct rnn_step *state = part->run->step;
    const struct recurrent *r = &state->r;
    const float *x = part->run->call->inputs[0]->data;
    size_t input = (size_t)r->input, batch = (size_t)r->batch;
    bool is_whole = part->count == r->batch; // then all steps' rows are adjacent
    for (int g = 0; g < r->gates; g++) {
        for (int i = 0; i < (is_whole ? 1 : part->chunk); i++) {
            struct rows in = {x + ((size_t)(first + i) * batch + (size_t)part->first) * input,
                              part->count * (is_whole ? part->chunk : 1), (int)input};
            multiply(part, in, part->run->weights->w[part->direction][g], gate_at(part, g, i),
                     false);
        }
    }
}

static void put(const struct part *part, int output, int64_t at, const float *rows) {
    const struct call *call = part->run->call;
    if (output < call->output_count && call->outputs[output]) {
        size_t hidden = (size_t)part->run->step->r.hidden;
        memcpy((float *)call->outputs[output]->data + (size_t)at * hidden, rows,
               (size_t)part->count * hidden * sizeof *rows);
    }
}

static const float *state_input(const struct part *part, int index) {
    const struct call *call = part->run->call;
    const struct recurrent *r = &part->run->step->r;
    const struct tensor *from = index < call->input_count ? call->inputs[index] : NULL;
    return from ? (const float *)from->data + (part->direction * r->batch + part->first) * r->hidden
                : NULL;
}

static void begin_states(const struct part *part) {
    const struct recurrent *r = &part->run->step->r;
    const float *h = state_input(part, 5), *c = r->gates == 4 ? state_input(part, 6) : h;
    memset(part->cell, 0, part->run->step->state_floats * sizeof *part->cell);
    memset(part->h, 0, (size_t)part->count * (size_t)r->hidden * sizeof *part->h);
    if (h) {
        memcpy(part->h, h, (size_t)part->count * (size_t)r->hidden * sizeof *h);
    }
    if (c) {
        from_rows(part, c, state_of(part, part->cell));
    }
}

static void run_step(const struct part *part, int64_t t, int step) {
    const struct recurrent *r = &part->run->step->r;
    if (r->gates == 4) {
        step_lstm(part, step);
    } else if (r->gates == 3) {
        step_gru(part, step);
    } else {
        step_rnn(part, step);
    }
    put(part, 0, (t * r->directions + part->direction) * r->batch + part->first, part->h);
}

static void run_part(struct part *part) {
    const struct recurrent *r = &part->run->step->r;
    bool is_backwards = r->is_reverse || part->direction == 1;
    begin_states(part);
    for (int64_t done = 0; done < r->steps; done += part->chunk) {
        part->chunk = (int)MIN((int64_t)part->run->step->chunk, r->steps - done);
        int64_t first = is_backwards ? r->steps - done - part->chunk : done;
        multiply_inputs(part, (int)first);
        for (int i = 0; i < part->chunk; i++) {
            int step = is_backwards ? part->chunk - 1 - i : i;
            run_step(part, first + step, step);
        }
    }
    int64_t at = part->direction * r->batch + part->first;
    put(part, 1, at, part->h);
    if (r->gates == 4) {
        to_rows(part, state_of(part, part->cell), part->reset);
        put(part, 2, at, part->reset);
    }
}

static void run_unit(void *context, int index, int lane) {
    const struct run *run = context;
    const struct rnn_step *step = run->step;
    int piece = index % step->parts;
    int first = (int)(step->r.batch * piece / step->parts);
    int last = (int)(step->r.batch * (piece + 1) / step->parts);
    float *scratch = (float *)run->call->scratch + (size_t)lane * step->lane_floats;
    struct part part = {
        .run = run, .direction = index / step->parts, .first = first, .count = last - first};
    part.gates = scratch;
    part.cell = part.gates + (size_t)step->r.gates * step->gate_floats;
    part.product = part.cell + step->state_floats;
    part.room = part.product + step->state_floats;
    part.h = part.room + step->state_floats;
    part.reset = part.h + (size_t)step->most * (size_t)step->r.hidden;
    part.chunk = step->chunk;
    run_part(&part);
}

static int recurrent_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct rnn_step *step = call->state;
    struct rnn_weights own = {0};
    struct run run = {.call = call,
                      .step = step,
                      .weights = step->is_lasting ? &step->weights : &own,
                      .ops = cpu->vectors,
                      .loops = chain_loops_get(cpu->vectors->isa)};
    if (!step->is_lasting) {
        struct rnn_source from = {call->inputs[1]->data, call->inputs[2]->data, NULL};
        from.b = call->input_count > 3 && call->inputs[3] ? call->inputs[3]->data : NULL;
        pack(&(struct packing){.cpu = cpu}, &from, step, &own);
    }
    parallel_for(cpu->threads, (int)step->r.directions * step->parts, run_unit, &run);
    release(&own);
    return 0;
}
const struct kernel fast_recurrent = {"fast recurrent", recurrent_run};
