// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/window.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

/* With larger numbers, products of sizes, strides and dilations could overflow. */
static const int64_t extent_max = (int64_t)1 << 31;

/* Reads the last `rank` entries of `to` from an attribute, which has one number per spatial axis;
 * without the attribute they stay. */
static int read_extents(const struct node *node, const char *name, int rank, int64_t low,
                        int64_t *to, struct error *err) {
    size_t count;
    const int64_t *values = node_integers(node, name, &count);
    if (!values) {
        return 0;
    }
    if (count != (size_t)rank) {
        return error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu numbers, %d are expected",
                         name, count, rank);
    }
    for (int i = 0; i < rank; i++) {
        if (values[i] < low || values[i] > extent_max) {
            return error_set(err, ERROR_INVALID,
                             "attribute \"%s\" has the value %lld, expected %lld to %lld", name,
                             (long long)values[i], (long long)low, (long long)extent_max);
        }
        to[WINDOW_RANK - rank + i] = values[i];
    }
    return 0;
}

static int read_pads(const struct node *node, struct window *window, struct error *err) {
    size_t count;
    const int64_t *pads = node_integers(node, "pads", &count);
    int rank = window->rank, skip = WINDOW_RANK - rank;
    if (!pads) {
        return 0;
    }
    if (count != 2 * (size_t)rank) {
        return error_set(err, ERROR_INVALID, "attribute \"pads\" has %zu numbers, %d are expected",
                         count, 2 * rank);
    }
    for (int i = 0; i < 2 * rank; i++) {
        if (pads[i] < 0 || pads[i] > extent_max) {
            return error_set(err, ERROR_INVALID,
                             "attribute \"pads\" has the value %lld, expected 0 to %lld",
                             (long long)pads[i], (long long)extent_max);
        }
        *(i < rank ? &window->pad_begin[skip + i] : &window->pad_end[skip + i - rank]) = pads[i];
    }
    return 0;
}

/* Reads everything except the output's size. `kernel`: the weights' spatial sizes, NULL for
 * pools. */
static int read_window(const struct node *node, const struct shape *x, const int64_t *kernel,
                       struct window *window, struct error *err) {
    *window = (struct window){.rank = x->rank - 2, .groups = node_integer(node, "group", 1)};
    int rank = window->rank, skip = WINDOW_RANK - rank;
    for (int i = 0; i < WINDOW_RANK; i++) {
        window->in[i] = i < skip ? 1 : x->dims[2 + i - skip];
        window->kernel[i] = kernel && i >= skip ? kernel[i - skip] : 1;
        window->stride[i] = window->dilation[i] = 1;
        if (window->in[i] > extent_max || window->kernel[i] < 1 || window->kernel[i] > extent_max) {
            return error_set(err, ERROR_INVALID,
                             "spatial axis %d: %lld pixels and a kernel of %lld, expected at most "
                             "%lld, and a kernel of 1 or more",
                             i - skip, (long long)window->in[i], (long long)window->kernel[i],
                             (long long)extent_max);
        }
    }
    int64_t named[WINDOW_RANK];
    memcpy(named, window->kernel, sizeof named);
    if (read_extents(node, "kernel_shape", rank, 1, named, err) < 0 ||
        read_extents(node, "strides", rank, 1, window->stride, err) < 0 ||
        read_extents(node, "dilations", rank, 1, window->dilation, err) < 0 ||
        read_pads(node, window, err) < 0) {
        return -1;
    }
    for (int i = 0; kernel && i < WINDOW_RANK; i++) {
        if (named[i] != window->kernel[i]) {
            return error_set(err, ERROR_INVALID,
                             "attribute \"kernel_shape\" has %lld as number %d, expected %lld, as "
                             "the weights have",
                             (long long)named[i], i - skip + 1, (long long)window->kernel[i]);
        }
    }
    memcpy(window->kernel, named, sizeof named);
    for (int i = 0; i < WINDOW_RANK; i++) {
        if (window->kernel[i] * window->dilation[i] > extent_max) {
            return error_set(
                err, ERROR_INVALID, "kernel times dilation is %lld, expected at most %lld",
                (long long)(window->kernel[i] * window->dilation[i]), (long long)extent_max);
        }
    }
    return 0;
}

static int64_t dilated(const struct window *window, int i) {
    return (window->kernel[i] - 1) * window->dilation[i] + 1;
}

static void set_same_pads(struct window *window, int i, int64_t total, bool is_lower) {
    total = MAX(total, 0);
    window->pad_begin[i] = is_lower ? total - total / 2 : total / 2;
    window->pad_end[i] = total - window->pad_begin[i];
}

/* Output sizes of convolutions and pools. */
static int fit_output(const struct node *node, struct window *window, struct error *err) {
    const char *mode = node_text(node, "auto_pad", "NOTSET");
    bool is_same = strncmp(mode, "SAME", 4) == 0, is_ceil = node_integer(node, "ceil_mode", 0);
    for (int i = 0; i < WINDOW_RANK; i++) {
        int64_t in = window->in[i], stride = window->stride[i], extent = dilated(window, i);
        if (i < WINDOW_RANK - window->rank) {
            window->out[i] = 1;
            continue;
        }
        if (is_same) {
            window->out[i] = (in + stride - 1) / stride;
            set_same_pads(window, i, (window->out[i] - 1) * stride + extent - in,
                          strcmp(mode, "SAME_LOWER") == 0);
            continue;
        }
        if (strcmp(mode, "VALID") == 0) {
            window->pad_begin[i] = window->pad_end[i] = 0;
        }
        int64_t span = in + window->pad_begin[i] + window->pad_end[i] - extent;
        if (span < 0) {
            return error_set(err, ERROR_INVALID,
                             "a window of %lld does not fit into %lld padded pixels",
                             (long long)extent, (long long)(span + extent));
        }
        window->out[i] = (is_ceil ? span + stride - 1 : span) / stride + 1;
        if (is_ceil && (window->out[i] - 1) * stride >= in + window->pad_begin[i]) {
            window->out[i]--; /* the last window would contain only padding */
        }
    }
    return 0;
}

static int check_channels(const struct fact *const *inputs, int64_t groups, int64_t per_group,
                          int64_t m, struct error *err) {
    int64_t c = inputs[0]->shape.dims[1];
    if (groups < 1 || groups > extent_max || per_group > extent_max || per_group * groups != c ||
        m % groups != 0) {
        return error_set(err, ERROR_INVALID,
                         "the input has %lld channels; the weights expect %lld in each of %lld "
                         "groups, and make %lld outputs, which the groups must divide",
                         (long long)c, (long long)per_group, (long long)groups, (long long)m);
    }
    return 0;
}

static int check_bias(const struct node *node, const struct fact *const *inputs, int64_t m,
                      struct error *err) {
    const struct fact *bias = param_input(node, inputs, 2);
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != m)) {
        return error_set(err, ERROR_INVALID, "the bias must have %lld elements", (long long)m);
    }
    return 0;
}

static int check_weights(const struct fact *const *inputs, struct error *err) {
    if (param_rank(inputs[0], 0, 3, 2 + WINDOW_RANK, err) < 0) {
        return -1;
    }
    return param_rank(inputs[1], 1, inputs[0]->shape.rank, inputs[0]->shape.rank, err);
}

int window_of_conv(const struct node *node, const struct fact *const *inputs,
                   struct window *ret_window, struct error *err) {
    if (check_weights(inputs, err) < 0) {
        return -1;
    }
    const struct shape *w = &inputs[1]->shape;
    if (read_window(node, &inputs[0]->shape, &w->dims[2], ret_window, err) < 0 ||
        check_channels(inputs, ret_window->groups, w->dims[1], w->dims[0], err) < 0 ||
        check_bias(node, inputs, w->dims[0], err) < 0) {
        return -1;
    }
    return fit_output(node, ret_window, err);
}

int window_of_conv_transpose(const struct node *node, const struct fact *const *inputs,
                             struct window *window, struct error *err) {
    if (check_weights(inputs, err) < 0) {
        return -1;
    }
    const struct shape *w = &inputs[1]->shape;
    if (read_window(node, &inputs[0]->shape, &w->dims[2], window, err) < 0) {
        return -1;
    }
    int64_t groups = window->groups, c = inputs[0]->shape.dims[1];
    if (groups < 1 || w->dims[0] != c || c % groups != 0 || w->dims[1] > extent_max ||
        groups > extent_max) {
        return error_set(err, ERROR_INVALID,
                         "the input has %lld channels; the weights expect %lld in %lld groups, "
                         "which must divide them",
                         (long long)c, (long long)w->dims[0], (long long)groups);
    }
    const char *mode = node_text(node, "auto_pad", "NOTSET");
    bool is_same = strncmp(mode, "SAME", 4) == 0;
    int64_t extra[WINDOW_RANK] = {0}, shape[WINDOW_RANK] = {0};
    if (check_bias(node, inputs, w->dims[1] * groups, err) < 0 ||
        read_extents(node, "output_padding", window->rank, 0, extra, err) < 0 ||
        read_extents(node, "output_shape", window->rank, 1, shape, err) < 0) {
        return -1;
    }
    for (int i = 0; i < WINDOW_RANK; i++) {
        int64_t full, stride = window->stride[i];
        if (__builtin_mul_overflow(window->in[i] - 1, stride, &full) || window->in[i] < 1 ||
            full > extent_max) {
            return error_set(err, ERROR_INVALID,
                             "the stride is %lld for %lld pixels, expected at least one pixel and "
                             "a smaller stride",
                             (long long)stride, (long long)window->in[i]);
        }
        full += extra[i] + dilated(window, i);
        if (strcmp(mode, "VALID") == 0) {
            window->pad_begin[i] = window->pad_end[i] = 0;
        }
        window->out[i] = full - window->pad_begin[i] - window->pad_end[i];
        if (i >= WINDOW_RANK - window->rank && (shape[i] || is_same)) {
            window->out[i] = shape[i] ? shape[i] : window->in[i] * stride;
            set_same_pads(window, i, full - window->out[i], strcmp(mode, "SAME_UPPER") != 0);
        }
        if (window->out[i] < 1) {
            return error_set(err, ERROR_INVALID,
                             "its output would have %lld pixels, at least 1 is expected",
                             (long long)window->out[i]);
        }
    }
    return 0;
}

int window_of_pool(const struct node *node, const struct fact *const *inputs,
                   struct window *ret_window, struct error *err) {
    if (param_rank(inputs[0], 0, 3, 2 + WINDOW_RANK, err) < 0) {
        return -1;
    }
    if (!node_attribute(node, "kernel_shape")) {
        return error_set(err, ERROR_INVALID, "attribute \"kernel_shape\" is missing");
    }
    if (read_window(node, &inputs[0]->shape, NULL, ret_window, err) < 0) {
        return -1;
    }
    for (int i = 0; i < WINDOW_RANK; i++) {
        int64_t extent = dilated(ret_window, i);
        if (ret_window->pad_begin[i] >= extent || ret_window->pad_end[i] >= extent) {
            return error_set(err, ERROR_INVALID, "pads must be smaller than the kernel");
        }
    }
    return fit_output(node, ret_window, err);
}

static void set_shape(struct fact *output, const struct window *window, int64_t n, int64_t m) {
    output->shape.rank = 2 + window->rank;
    output->shape.dims[0] = n;
    output->shape.dims[1] = m;
    memcpy(&output->shape.dims[2], &window->out[WINDOW_RANK - window->rank],
           (size_t)window->rank * sizeof window->out[0]);
}

int infer_conv(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    struct window window;
    if (window_of_conv(node, inputs, &window, err) < 0) {
        return -1;
    }
    set_shape(&outputs[0], &window, inputs[0]->shape.dims[0], inputs[1]->shape.dims[0]);
    return 0;
}

int infer_conv_transpose(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err) {
    struct window window;
    if (window_of_conv_transpose(node, inputs, &window, err) < 0) {
        return -1;
    }
    set_shape(&outputs[0], &window, inputs[0]->shape.dims[0],
              inputs[1]->shape.dims[1] * window.groups);
    return 0;
}

int infer_pool(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    struct window window;
    if (window_of_pool(node, inputs, &window, err) < 0) {
        return -1;
    }
    set_shape(&outputs[0], &window, inputs[0]->shape.dims[0], inputs[0]->shape.dims[1]);
    return 0;
}

int infer_max_pool(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    bool has_places = node->output_count > 1 && node->outputs[1] >= 0;
    if (has_places && node->op->id != OP_MAX_POOL_INDICES) {
        return error_set(err, ERROR_UNSUPPORTED, "output 1 (indices) is not supported in training");
    }
    if (infer_pool(node, inputs, outputs, err) < 0) {
        return -1;
    }
    if (node->output_count > 1) {
        outputs[1] = (struct fact){.type = TENSOR_INT64, .shape = outputs[0].shape};
    }
    return 0;
}

int window_unpool_shape(const struct node *node, const struct shape *x, struct shape *ret_shape,
                        struct error *err) {
    struct window window;
    if (read_window(node, x, NULL, &window, err) < 0) {
        return -1;
    }
    *ret_shape = *x;
    for (int i = 2; i < x->rank; i++) {
        int at = i - 2 + WINDOW_RANK - window.rank;
        int64_t span;
        if (__builtin_mul_overflow(window.in[at] - 1, window.stride[at], &span) ||
            span > extent_max) {
            return error_set(err, ERROR_INVALID,
                             "the stride is %lld, which makes the output too large",
                             (long long)window.stride[at]);
        }
        ret_shape->dims[i] = span + window.kernel[at] - window.pad_begin[at] - window.pad_end[at];
    }
    return shape_count(ret_shape) >= 0
               ? 0
               : error_set(err, ERROR_INVALID, "the output would have a negative size");
}

int infer_max_unpool(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct fact *shape = param_input(node, inputs, 2);
    struct shape *output = &outputs[0].shape, usual;
    if (param_rank(inputs[0], 0, 3, 2 + WINDOW_RANK, err) < 0 ||
        window_unpool_shape(node, &inputs[0]->shape, &usual, err) < 0) {
        return -1;
    }
    if (!shape_equal(&inputs[0]->shape, &inputs[1]->shape)) {
        return error_set(err, ERROR_INVALID, "input 1 is not shaped as input 0");
    }
    *output = usual;
    if (shape && param_integers(shape, "the output's shape", output->dims, TENSOR_RANK_MAX,
                                &output->rank, err) < 0) {
        return -1;
    }
    if (output->rank != usual.rank) {
        return error_set(err, ERROR_INVALID, "the output's shape has %d numbers, expected %d",
                         output->rank, usual.rank);
    }
    for (int i = 0; i < usual.rank; i++) {
        if (output->dims[i] < usual.dims[i]) {
            return error_set(err, ERROR_INVALID,
                             "the output's shape has %lld as number %d, expected at least %lld",
                             (long long)output->dims[i], i + 1, (long long)usual.dims[i]);
        }
    }
    return 0;
}

int infer_global_pool(const struct node *node UNUSED, const struct fact *const *inputs,
                      struct fact *outputs, struct error *err) {
    if (param_rank(inputs[0], 0, 3, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    outputs[0].shape = inputs[0]->shape;
    for (int i = 2; i < inputs[0]->shape.rank; i++) {
        if (inputs[0]->shape.dims[i] == 0) {
            return error_set(err, ERROR_INVALID,
                             "axis %d is 0, and a pool needs at least one pixel", i);
        }
        outputs[0].shape.dims[i] = 1;
    }
    return 0;
}

void window_covered(const struct window *window, int dim, int64_t k, int64_t *first,
                    int64_t *last) {
    int64_t stride = window->stride[dim];
    int64_t shift = k * window->dilation[dim] - window->pad_begin[dim];
    int64_t low = -shift, high = window->in[dim] - shift; /* low <= o * stride < high */
    *first = low <= 0 ? 0 : (low + stride - 1) / stride;
    *last = high <= 0 ? 0 : MIN((high + stride - 1) / stride, window->out[dim]);
}

struct window_span window_find_span(const struct window *window, int dim, int64_t o) {
    int64_t dilation = window->dilation[dim];
    int64_t start = o * window->stride[dim] - window->pad_begin[dim];
    int64_t end = start + (window->kernel[dim] - 1) * dilation + 1;
    int64_t padded_end = MIN(end, window->in[dim] + window->pad_end[dim]);
    if (dilation == 1) { /* divisions take longer than a small window */
        return (struct window_span){MAX(start, 0), MIN(end, window->in[dim]), padded_end - start};
    }
    return (struct window_span){
        start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start,
        MIN(end, window->in[dim]), (padded_end - start + dilation - 1) / dilation};
}
