// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/ops/table.h"

enum { GRAIN = 4096 };

void step_unary_try(const struct schedule *schedule, struct step *step) {
    if (step->kernel || schedule->slots[step->inputs[0]].type != TENSOR_FLOAT32) {
        return;
    }
    int id = step->node->op->id;
    step->kernel = id == OP_TANH ? &fast_tanh : id == OP_SIGMOID ? &fast_sigmoid : NULL;
}

struct unary {
    void (*function)(float *out, const float *in, size_t count);
    const float *in;
    float *out;
};

static void unary_body(void *context, int64_t first, int64_t last) {
    const struct unary *unary = context;
    unary->function(unary->out + first, unary->in + first, (size_t)(last - first));
}

static int run_unary(const struct call *call, struct unary unary) {
    unary.in = call->inputs[0]->data;
    unary.out = call->outputs[0]->data;
    threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN, unary_body, &unary);
    return 0;
}

static int tanh_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    return run_unary(call, (struct unary){.function = cpu->vectors->tanh});
}
const struct kernel fast_tanh = {"fast Tanh", tanh_run};

static int sigmoid_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    return run_unary(call, (struct unary){.function = cpu->vectors->sigmoid});
}
const struct kernel fast_sigmoid = {"fast Sigmoid", sigmoid_run};
