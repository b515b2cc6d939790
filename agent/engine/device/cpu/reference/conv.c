// SPDX-License-Identifier: Apache-2.0
/* Conv and ConvTranspose. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/window.h"

struct conv {
    struct window window;
    const void *x, *w, *bias; /* bias: NULL or [m] */
    void *y;
    int64_t c, m;             /* channels of x and of y, all groups */
    int64_t x_plane, y_plane; /* elements of a channel */
};

#define REAL double
#define NAMED(name) name##_double
#include "agent/engine/device/cpu/reference/conv.inc"
#define REAL float
#define NAMED(name) name##_float
#include "agent/engine/device/cpu/reference/conv.inc"

/* int32 wraps around: its bits are those of uint32. */
#define REAL uint32_t
#define NAMED(name) name##_int32
#include "agent/engine/device/cpu/reference/conv.inc"

static void fill_planes(const struct call *call, struct conv *conv) {
    const struct window *window = &conv->window;
    conv->x = call->inputs[0]->data;
    conv->w = call->inputs[1]->data;
    conv->bias = call->input_count > 2 && call->inputs[2] ? call->inputs[2]->data : NULL;
    conv->y = call->outputs[0]->data;
    conv->c = call->inputs[0]->shape.dims[1];
    conv->m = call->outputs[0]->shape.dims[1];
    conv->x_plane = window->in[0] * window->in[1] * window->in[2];
    conv->y_plane = window->out[0] * window->out[1] * window->out[2];
}

/* One function for each type of x. */
struct bodies {
    threads_body *of_float, *of_double, *of_int32;
};

static void run_planes(const struct call *call, struct conv *conv, const struct bodies *bodies) {
    fill_planes(call, conv);
    enum tensor_type type = call->inputs[0]->type;
    threads_run(cpu_threads(call), call->inputs[0]->shape.dims[0] * conv->m, 1,
                type == TENSOR_FLOAT64 ? bodies->of_double
                : type == TENSOR_INT32 ? bodies->of_int32
                                       : bodies->of_float,
                conv);
}

static int conv_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    struct conv conv = {0};
    if (window_of_conv(call->node, cpu_call_collect_facts(call, &facts), &conv.window, err) < 0) {
        return -1;
    }
    static const struct bodies bodies = {conv_body_float, conv_body_double, conv_body_int32};
    run_planes(call, &conv, &bodies);
    return 0;
}
const struct kernel reference_conv = {"reference conv", conv_run};

static int conv_transpose_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    struct conv conv = {0};
    if (window_of_conv_transpose(call->node, cpu_call_collect_facts(call, &facts), &conv.window,
                                 err) < 0) {
        return -1;
    }
    static const struct bodies bodies = {conv_transpose_body_float, conv_transpose_body_double,
                                         conv_transpose_body_int32};
    run_planes(call, &conv, &bodies);
    return 0;
}
const struct kernel reference_conv_transpose = {"reference conv_transpose", conv_transpose_run};
