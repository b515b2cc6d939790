// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/windows.h"

struct conv {
    struct window window;
    const float *x, *w, *bias; /* bias: NULL or [m] */
    float *y;
    int64_t c, m;             /* channels of x and of y, all groups */
    int64_t x_plane, y_plane; /* elements of a channel */
};

void window_covered(const struct window *window, int dim, int64_t k, int64_t *first,
                    int64_t *last) {
    int64_t stride = window->stride[dim];
    int64_t shift = k * window->dilation[dim] - window->pad_begin[dim];
    int64_t low = -shift, high = window->in[dim] - shift; /* low <= o * stride < high */
    *first = low <= 0 ? 0 : (low + stride - 1) / stride;
    *last = high <= 0 ? 0 : MIN((high + stride - 1) / stride, window->out[dim]);
}

/* y += weight * x shifted by tap k = [depth, height, width]. */
static void add_tap(const struct window *window, const int64_t *k, float weight, const float *x,
                    float *y) {
    int64_t first[WINDOW_RANK], last[WINDOW_RANK], shift[WINDOW_RANK];
    for (int i = 0; i < WINDOW_RANK; i++) {
        window_covered(window, i, k[i], &first[i], &last[i]);
        shift[i] = k[i] * window->dilation[i] - window->pad_begin[i];
    }
    for (int64_t d = first[0]; d < last[0]; d++) {
        for (int64_t h = first[1]; h < last[1]; h++) {
            int64_t x_row = ((d * window->stride[0] + shift[0]) * window->in[1] +
                             h * window->stride[1] + shift[1]) *
                            window->in[2];
            int64_t y_row = (d * window->out[1] + h) * window->out[2];
            for (int64_t v = first[2]; v < last[2]; v++) {
                y[y_row + v] += weight * x[x_row + v * window->stride[2] + shift[2]];
            }
        }
    }
}

/* Output channels first..last - 1 of all pictures: index = picture * m + channel. */
static void conv_body(void *context, int64_t first, int64_t last) {
    const struct conv *conv = context;
    const struct window *window = &conv->window;
    int64_t per_group = conv->c / window->groups, outputs = conv->m / window->groups;
    for (int64_t index = first; index < last; index++) {
        int64_t n = index / conv->m, m = index % conv->m, group = m / outputs;
        float *y = conv->y + index * conv->y_plane;
        for (int64_t i = 0; i < conv->y_plane; i++) {
            y[i] = conv->bias ? conv->bias[m] : 0;
        }
        const float *w =
            conv->w + m * per_group * window->kernel[0] * window->kernel[1] * window->kernel[2];
        for (int64_t c = 0; c < per_group; c++) {
            const float *x = conv->x + (n * conv->c + group * per_group + c) * conv->x_plane;
            int64_t k[WINDOW_RANK];
            for (k[0] = 0; k[0] < window->kernel[0]; k[0]++) {
                for (k[1] = 0; k[1] < window->kernel[1]; k[1]++) {
                    for (k[2] = 0; k[2] < window->kernel[2]; k[2]++) {
                        add_tap(window, k, *w++, x, y);
                    }
                }
            }
        }
    }
}

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

static int conv_run(const struct call *call, struct error *err) {
    struct call_facts facts = {0};
    struct conv conv = {0};
    if (conv_window(call->node, call_facts(call, &facts), &conv.window, err) < 0) {
        return -1;
    }
    fill_planes(call, &conv);
    threads_run(cpu_threads(call), call->inputs[0]->shape.dims[0] * conv.m, 1, conv_body, &conv);
    return 0;
}
const struct kernel reference_conv = {"reference conv", conv_run};

/* Spreads x over y by tap k: y[x * stride + k * dilation - pad] += weight * x. */
static void spread_tap(const struct window *window, const int64_t *k, float weight, const float *x,
                       float *y) {
    for (int64_t d = 0; d < window->in[0]; d++) {
        int64_t to_d = d * window->stride[0] + k[0] * window->dilation[0] - window->pad_begin[0];
        for (int64_t h = 0; h < window->in[1]; h++) {
            int64_t to_h =
                h * window->stride[1] + k[1] * window->dilation[1] - window->pad_begin[1];
            for (int64_t v = 0; v < window->in[2]; v++, x++) {
                int64_t to_v =
                    v * window->stride[2] + k[2] * window->dilation[2] - window->pad_begin[2];
                if (to_d >= 0 && to_d < window->out[0] && to_h >= 0 && to_h < window->out[1] &&
                    to_v >= 0 && to_v < window->out[2]) {
                    y[(to_d * window->out[1] + to_h) * window->out[2] + to_v] += weight * *x;
                }
            }
        }
    }
}

static void conv_transpose_body(void *context, int64_t first, int64_t last) {
    const struct conv *conv = context;
    const struct window *window = &conv->window;
    int64_t per_group = conv->c / window->groups, outputs = conv->m / window->groups;
    int64_t taps = window->kernel[0] * window->kernel[1] * window->kernel[2];
    for (int64_t index = first; index < last; index++) {
        int64_t n = index / conv->m, m = index % conv->m, group = m / outputs;
        float *y = conv->y + index * conv->y_plane;
        for (int64_t i = 0; i < conv->y_plane; i++) {
            y[i] = conv->bias ? conv->bias[m] : 0;
        }
        for (int64_t c = group * per_group; c < (group + 1) * per_group; c++) {
            const float *x = conv->x + (n * conv->c + c) * conv->x_plane;
            const float *w = conv->w + (c * outputs + m % outputs) * taps; /* [c, m / groups, k] */
            int64_t k[WINDOW_RANK];
            for (k[0] = 0; k[0] < window->kernel[0]; k[0]++) {
                for (k[1] = 0; k[1] < window->kernel[1]; k[1]++) {
                    for (k[2] = 0; k[2] < window->kernel[2]; k[2]++) {
                        spread_tap(window, k, *w++, x, y);
                    }
                }
            }
        }
    }
}

static int conv_transpose_run(const struct call *call, struct error *err) {
    struct call_facts facts = {0};
    struct conv conv = {0};
    if (conv_transpose_window(call->node, call_facts(call, &facts), &conv.window, err) < 0) {
        return -1;
    }
    fill_planes(call, &conv);
    threads_run(cpu_threads(call), call->inputs[0]->shape.dims[0] * conv.m, 1, conv_transpose_body,
                &conv);
    return 0;
}
const struct kernel reference_conv_transpose = {"reference conv_transpose", conv_transpose_run};
