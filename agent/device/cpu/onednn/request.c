// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/onednn/request.h"

#include <assert.h>

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
    dnnl_memory_desc_init_by_strides(&arg->lies, rank, dims, dnnl_f32, strides ? strides : plain);
    return &arg->lies;
}

dnnl_memory_desc_t request_any(const dnnl_memory_desc_t *like) {
    dnnl_memory_desc_t any;
    dnnl_memory_desc_init_by_tag(&any, like->ndims, like->dims, dnnl_f32, dnnl_format_tag_any);
    return any;
}
