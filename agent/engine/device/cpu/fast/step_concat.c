// SPDX-License-Identifier: Apache-2.0
// Concatenation of channels in the blocked layout, by copying whole blocks.
#include <string.h>

#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"

// Every operand except the last must fill its blocks.
bool step_concat_fits(const struct vector_ops *ops, const struct schedule *schedule,
                      const struct step *step) {
    bool fits = true;
    for (int i = 0; i < step->input_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[step->inputs[i]];
        bool last = i + 1 == step->input_count;
        fits = fits && slot->layout && (last || slot->shape.dims[1] % ops->block == 0);
    }
    return fits;
}

struct concat {
    const struct call *call;
    const struct vector_ops *ops;
};

// Operand by operand of each sample.
static void copy_operand(void *context, int index, int lane UNUSED) {
    const struct concat *concat = context;
    const struct call *call = concat->call;
    int n = index / call->input_count, operand = index % call->input_count;
    const int64_t *y = call->outputs[0]->shape.dims;
    int channels = 0;
    for (int i = 0; i < operand; i++) {
        channels += (int)call->inputs[i]->shape.dims[1];
    }
    int pixels = (int)shape_pixels(&call->outputs[0]->shape);
    size_t count =
        conv_blocked_count(concat->ops, 1, (int)call->inputs[operand]->shape.dims[1], pixels, 1);
    float *to = (float *)call->outputs[0]->data +
                (size_t)n * conv_blocked_count(concat->ops, 1, (int)y[1], pixels, 1) +
                conv_blocked_count(concat->ops, 1, channels, pixels, 1);
    const float *from = (const float *)call->inputs[operand]->data + (size_t)n * count;
    memcpy(to, from, count * sizeof *to);
}

static int concat_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    struct concat concat = {call, cpu->vectors};
    int units = (int)call->outputs[0]->shape.dims[0] * call->input_count;
    parallel_for(cpu->threads, units, copy_operand, &concat);
    return 0;
}
const struct kernel fast_concat = {"fast Concat", concat_run};
