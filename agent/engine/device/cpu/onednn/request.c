// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/onednn/request.h"

#include <assert.h>

enum { WINOGRAD_CHANNELS = 64, WINOGRAD_SIDE = 12 };

void request_begin(struct request *request) {
    *request = (struct request){.options = request->options};
}

const dnnl_memory_desc_t *request_add(struct request *request, int name, int input, int rank,
                                      const int64_t *dims, const int64_t *strides) {
    assert(request->arg_count < REQUEST_ARGS_MAX && rank <= DNNL_MAX_NDIMS);
    struct request_arg *arg = &request->args[request->arg_count++];
    dnnl_dims_t plain;
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        plain[i] = stride;
        stride *= dims[i];
    }
    *arg = (struct request_arg){.name = name, .input = input};
    dnnl.memory_desc_init_by_strides(&arg->stored, rank, dims, dnnl_f32, strides ? strides : plain);
    return &arg->stored;
}

dnnl_memory_desc_t request_any(const dnnl_memory_desc_t *like) {
    dnnl_memory_desc_t any;
    dnnl.memory_desc_init_by_tag(&any, like->ndims, like->dims, dnnl_f32, dnnl_format_tag_any);
    return any;
}

dnnl_memory_desc_t request_add_activation(struct request *request, int name, int input,
                                          const struct schedule_slot *slot) {
    request_add(request, name, input, slot->shape.rank, slot->shape.dims, NULL);
    dnnl_memory_desc_t *stored = &request->args[request->arg_count - 1].stored;
    if (slot->layout) { /* the device's blocked layout is also oneDNN's: [n, c / b, h, w, b] */
        dnnl_memory_desc_t plain = *stored;
        dnnl.memory_desc_init_by_tag(stored, plain.ndims, plain.dims, dnnl_f32,
                                     request->options.block == 16 ? dnnl_nChw16c : dnnl_nChw8c);
        if (request->options.keeps_blocks) {
            return *stored;
        }
    }
    return request_any(stored);
}

/* oneDNN has Winograd only for AVX-512: F(4x4, 3x3), whose results differ by 1e-6 from direct ones.
 * It is not faster with few channels, or if tiles of 4x4 reach far beyond the edge. */
bool request_algorithm(const struct request *request, const struct window *window,
                       const struct schedule_slot *weights, dnnl_alg_kind_t *ret_algorithm) {
    const int64_t *dims = weights->shape.dims;
    *ret_algorithm =
        request->options.winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
    bool fits = window->rank == 2 && window->groups == 1 && dims[0] >= WINOGRAD_CHANNELS &&
                dims[1] >= WINOGRAD_CHANNELS;
    for (int i = 1; i < WINDOW_RANK; i++) {
        fits = fits && window->kernel[i] == 3 && window->stride[i] == 1 &&
               window->dilation[i] == 1 && window->pad_begin[i] <= 1 && window->pad_end[i] <= 1 &&
               window->out[i] >= WINOGRAD_SIDE;
    }
    return fits || !request->options.winograd;
}
