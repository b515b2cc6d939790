// SPDX-License-Identifier: Apache-2.0
/* The step of a fast convolution: prepared once, run for each batch. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/dilated.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/ops/infer/params.h"

void step_conv_free(void *state) {
    struct conv_step *step = state;
    if (step->first) {
        step_conv_free(step->first);
    }
    conv_release(&step->conv);
    free((void *)(uintptr_t)step->source.scale);
    free((void *)(uintptr_t)step->source.shift);
    if (step->after) {
        step->after->release(step->after);
    }
    free(step);
}

// The convolution that is computed.
static struct conv_shape shape_of(const struct vector_ops *ops, const struct conv_step *step,
                                  bool planar) {
    return conv_shape_unfold(ops, step->is_split ? &step->plain : &step->shape, planar);
}

// NULL: it computes in float32. A 1x1 convolution that makes a depthwise one's input row by row
// does.
static const struct bfloat_ops *bfloat_of(const struct cpu_device *cpu,
                                          const struct conv_step *step,
                                          enum conv_algorithm algorithm) {
    bool is_whole = node_integer(step->node, PARAM_IS_WHOLE, 0) && !step->source.scale;
    return algorithm != CONV_DIRECT ? NULL : is_whole ? cpu->whole : cpu->bfloat;
}

static const struct conv_weights *weights_for(struct cpu_device *cpu, const struct conv_step *step,
                                              enum conv_algorithm algorithm, bool planar,
                                              const struct bfloat_ops *bfloat) {
    const struct conv_shape shape = shape_of(cpu->vectors, step, planar), *s = &shape;
    struct weights_key key = {.node = step->node,
                              .weights = step->source.weights,
                              .bias = step->source.bias,
                              .norm = step->norm_key,
                              .algorithm = algorithm,
                              .planar = planar,
                              .order = {s->up_h, s->up_w, s->crop_top, s->crop_left}};
    struct conv_weights *weights = weights_cache_get(cpu->weights, &key);
    if (!weights) {
        weights = conv_weights_new(cpu->vectors, s, algorithm, planar, &step->source);
        if (bfloat) {
            conv_weights_round(cpu->vectors, bfloat, s, weights);
        }
        weights_cache_put(cpu->weights, &key, weights);
    }
    return weights;
}

static struct conv conv_of(struct cpu_device *cpu, const struct conv_step *step,
                           enum conv_algorithm algorithm, bool planar,
                           const struct bfloat_ops *bfloat) {
    return (struct conv){.ops = cpu->vectors,
                         .shape = shape_of(cpu->vectors, step, planar),
                         .weights = weights_for(cpu, step, algorithm, planar, bfloat),
                         .bfloat = bfloat,
                         .low = step->low,
                         .high = step->high,
                         .normed = step->normed,
                         .gamma = step->gamma,
                         .beta = step->beta,
                         .epsilon = step->epsilon,
                         .activate = step->activate};
}

// Where the copies are that the step needs in its scratch, behind the convolution's own: blocked
// copies of values that are not blocked, values whose affine has no place in their slot, and the
// samples of a dilated convolution.
static size_t place_copies(const struct vector_ops *ops, struct conv_step *state) {
    const struct conv_shape *s = &state->shape, *plain = &state->plain;
    size_t bytes = (state->conv.scratch_bytes + 63) / 64 * 64;
    state->in_offset = state->out_offset = state->add_offset = SIZE_MAX;
    bool kept = state->out_layout && (!state->normed || state->out_layout & LAYOUT_AFFINE);
    int images = s->n * MAX(s->depth.out, 1);
    size_t blocked = conv_blocked_count(ops, images, s->channels_out, s->out_h, s->out_w);
    if (state->conv.weights->algorithm != CONV_THIN && !kept) {
        state->out_offset = bytes;
        bytes += (blocked + conv_affine_count(ops, s->n, s->channels_out)) * sizeof(float);
    }
    if (state->add >= 0 && !state->add_layout) {
        state->add_offset = bytes;
        bytes += blocked * sizeof(float);
    }
    if ((state->first || state->is_split) && state->in_layout != LAYOUT_BLOCKED) {
        const struct conv_shape *in = state->first ? &state->first->shape : s;
        state->in_offset = bytes;
        bytes +=
            conv_blocked_count(ops, in->n, in->channels_in, in->in_h, in->in_w) * sizeof(float);
    }
    if (state->gate >= 0) {
        state->gate_offset = bytes;
        bytes += conv_affine_count(ops, s->n, s->channels_in) * sizeof(float);
    }
    if (state->is_split) {
        state->plain_in = bytes;
        bytes += conv_blocked_count(ops, plain->n, s->channels_in, plain->in_h, plain->in_w) *
                 sizeof(float);
        state->plain_out = bytes;
        bytes += conv_blocked_count(ops, plain->n, s->channels_out, plain->out_h, plain->out_w) *
                 sizeof(float);
    }
    return bytes;
}

void step_conv_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct conv_step *state = step->state;
    const struct vector_ops *ops = cpu->vectors;
    int threads = threads_count(cpu->threads);
    state->in_layout = schedule->slots[step->inputs[0]].layout;
    state->out_layout = schedule->slots[step->outputs[0]].layout;
    state->add_layout = state->add < 0 ? 0 : schedule->slots[step->inputs[state->add]].layout;
    const struct bfloat_ops *bfloat = bfloat_of(cpu, state, CONV_DIRECT);
    bool is_far_ahead = bfloat && bfloat->is_far_ahead;
    state->is_split = !state->first && !state->normed && state->add < 0 && !is_far_ahead &&
                      dilated_as_plain(ops, &state->shape, threads, &state->plain);
    bool planar = !state->first && !state->is_split && !state->in_layout &&
                  conv_reads_planar(ops, &state->shape);
    const struct conv_shape shape = shape_of(ops, state, planar);
    enum conv_algorithm algorithm = conv_choose(ops, &shape, planar, threads);
    if ((algorithm == CONV_THIN && state->normed) ||
        (is_far_ahead && conv_winograd(ops, algorithm))) {
        algorithm = CONV_DIRECT;
    }
    planar = planar && algorithm == CONV_DIRECT;
    state->conv = conv_of(cpu, state, algorithm, planar, bfloat_of(cpu, state, algorithm));
    if (state->first) {
        state->first->conv = conv_of(cpu, state->first, CONV_DIRECT, false, NULL);
        conv_plan(&state->first->conv, 1, true, false);
        state->conv.first = &state->first->conv;
    }
    conv_plan(&state->conv, threads, state->is_split || state->in_layout != 0,
              !state->is_split && state->in_layout & LAYOUT_AFFINE);
    step->scratch_bytes = place_copies(ops, state);
}

bool step_conv_takes_gate(const struct step *step) {
    const struct conv_step *state = step->state;
    return state->conv.flat && !state->normed && state->gate < 0;
}

// The input has to be loaded to windows then: these are parts of one long row. The weights are
// those in the cache: their constant may have been dropped since they were packed.
void step_conv_add_gate(struct cpu_device *cpu, struct schedule *schedule, struct step *step,
                        int slot) {
    struct conv_step *state = step->state;
    state->gate = schedule_add_input(schedule, step, slot);
    const struct conv_weights *weights = state->conv.weights;
    conv_release(&state->conv);
    state->conv = conv_of(cpu, state, CONV_DIRECT, false, bfloat_of(cpu, state, CONV_DIRECT));
    assert(state->conv.weights == weights);
    (void)weights;
    struct conv_shape *s = &state->conv.shape;
    s->in_w *= s->in_h;
    s->out_w *= s->out_h;
    s->in_h = s->out_h = 1;
    conv_plan(&state->conv, threads_count(cpu->threads), true, true);
    step->scratch_bytes = place_copies(cpu->vectors, state);
}

struct conversion {
    const struct vector_ops *ops;
    const struct shape *shape;
    const struct conv_operand *from, *to;
};

// Converts one block of one sample: to planes, or to a blocked value with the affine applied.
static void convert_block(void *context, int index, int lane UNUSED) {
    const struct conversion *c = context;
    int b = c->ops->block, channels = (int)c->shape->dims[1], blocks = (channels + b - 1) / b;
    int n = index / blocks, block = index % blocks, lanes = MIN(b, channels - block * b);
    size_t pixels = (size_t)shape_pixels(c->shape);
    size_t blocked = (size_t)index * pixels * (size_t)b;
    size_t planar = (size_t)(n * channels + block * b) * pixels;
    struct pending pending = step_pending(c->ops, c->from, c->shape, n, block);
    const struct pending none = {0};
    if (!c->from->blocked) {
        c->ops->from_planar(c->to->data + blocked, c->from->data + planar, pixels, lanes, pixels);
    } else if (!c->to->blocked) {
        c->ops->to_planar(c->to->data + planar, pixels, lanes, c->from->data + blocked, &pending,
                          pixels);
    } else {
        c->ops->combine(c->to->data + blocked, c->from->data + blocked, &pending, NULL, &none,
                        -__builtin_inff(), __builtin_inff(), pixels);
    }
}

static void convert(struct cpu_device *cpu, const struct shape *shape,
                    const struct conv_operand *from, const struct conv_operand *to) {
    struct conversion conversion = {cpu->vectors, shape, from, to};
    int b = cpu->vectors->block, blocks = ((int)shape->dims[1] + b - 1) / b;
    parallel_for(cpu->threads, (int)shape->dims[0] * blocks, convert_block, &conversion);
}

// A dilated convolution.
static void run_split(const struct call *call, const struct conv_operand *in,
                      const struct conv_operand *out) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct conv_step *state = call->state;
    const struct dilated dilated = {cpu->vectors, cpu->threads, &state->shape, &state->plain};
    char *scratch = call->scratch;
    const struct conv_operand plain_in = {.data = (float *)(scratch + state->plain_in),
                                          .blocked = true};
    const struct conv_operand plain_out = {.data = (float *)(scratch + state->plain_out),
                                           .blocked = true};
    const struct conv_operands operands = {.in = &plain_in, .out = &plain_out, .context = call};
    dilated_split(&dilated, in->data, plain_in.data);
    conv_run(&state->conv, cpu->threads, &operands, scratch);
    dilated_join(&dilated, plain_out.data, out->data);
}

// The gate's numbers as scales, with zeros as shifts and for lanes beyond the channels. The gate is
// blocked, or its channels fill whole blocks (chain_blocks_fit).
static float *scales_of(const struct call *call) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct conv_step *state = call->state;
    const struct tensor *gate = call->inputs[state->gate];
    float *affine = (float *)(void *)((char *)call->scratch + state->gate_offset);
    size_t channels = (size_t)state->shape.channels_in;
    size_t all = conv_affine_count(cpu->vectors, 1, state->shape.channels_in);
    memset(affine, 0, all * (size_t)state->shape.n * sizeof *affine);
    for (size_t n = 0; n < (size_t)state->shape.n; n++) {
        memcpy(affine + n * all, (const float *)gate->data + n * (all / 2),
               channels * sizeof *affine);
    }
    return affine;
}

static int conv_step_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct conv_step *state = call->state;
    const struct conv_shape *s = &state->shape;
    const struct tensor *y = call->outputs[0];
    char *scratch = call->scratch;
    struct conv_operand in = step_operand(cpu->vectors, call->inputs[0], state->in_layout);
    struct conv_operand out = step_operand(cpu->vectors, y, state->out_layout), add = {0};
    if (state->add >= 0) {
        add = step_operand(cpu->vectors, call->inputs[state->add], state->add_layout);
    }
    if (state->in_offset != SIZE_MAX) {
        struct conv_operand from = in;
        in = (struct conv_operand){.data = (float *)(scratch + state->in_offset), .blocked = true};
        convert(cpu, &call->inputs[0]->shape, &from, &in);
    }
    if (state->add_offset != SIZE_MAX) {
        struct conv_operand from = add;
        add =
            (struct conv_operand){.data = (float *)(scratch + state->add_offset), .blocked = true};
        convert(cpu, &y->shape, &from, &add);
    }
    if (state->gate >= 0) {
        in.affine = scales_of(call);
    }
    struct conv_operand made = out;
    if (state->out_offset != SIZE_MAX) {
        made =
            (struct conv_operand){.data = (float *)(scratch + state->out_offset), .blocked = true};
        made.affine = made.data + conv_blocked_count(cpu->vectors, state->conv.shape.n,
                                                     s->channels_out, s->out_h, s->out_w);
    }
    if (state->is_split) {
        run_split(call, &in, &made);
    } else {
        const struct conv_operands operands = {&in, state->add < 0 ? NULL : &add, &made, call};
        conv_run(&state->conv, cpu->threads, &operands, scratch);
    }
    if (state->out_offset != SIZE_MAX) {
        made.affine = state->normed ? made.affine : NULL;
        made.relu = state->relu_after_norm;
        convert(cpu, &y->shape, &made, &out);
    }
    return 0;
}
const struct kernel fast_conv = {"fast Conv", conv_step_run};
