// SPDX-License-Identifier: Apache-2.0
// Normalisations over one dimension: softmax over the last one, local response over channels.
#include "agent/engine/device/cpu/onednn/request.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

bool request_lrn(const struct schedule *schedule, const struct step *step,
                 struct request *ret_request) {
    const struct shape *x = &schedule->slots[step->inputs[0]].shape;
    int64_t size = node_integer(step->node, "size", 1);
    if (x->rank < 3 || size < 1 || size % 2 == 0 || size > x->dims[1] * 2) {
        return false; /* oneDNN and ONNX place an even neighbourhood differently */
    }
    int64_t planes = x->dims[0] * x->dims[1];
    int64_t dims[4] = {x->dims[0], x->dims[1], 1, shape_count(x) / planes};
    request_begin(ret_request);
    const dnnl_memory_desc_t *stored = request_add(ret_request, DNNL_ARG_SRC, 0, 4, dims, NULL);
    request_add(ret_request, DNNL_ARG_DST, REQUEST_OUTPUT, 4, dims, NULL);
    return dnnl.lrn_forward_desc_init(&ret_request->description.lrn, dnnl_forward_inference,
                                      dnnl_lrn_across_channels, stored, size,
                                      node_number(step->node, "alpha", 1e-4f),
                                      node_number(step->node, "beta", 0.75f),
                                      node_number(step->node, "bias", 1)) == dnnl_success;
}

bool request_softmax(const struct schedule *schedule, const struct step *step,
                     struct request *ret_request) {
    struct error err = {0};
    struct softmax softmax;
    const struct shape *x = &schedule->slots[step->inputs[0]].shape;
    if (softmax_params(step->node, x, &softmax, &err) < 0 || softmax.inner != 1) {
        return false;
    }
    int64_t dims[2] = {softmax.outer, softmax.axis};
    request_begin(ret_request);
    const dnnl_memory_desc_t *stored = request_add(ret_request, DNNL_ARG_SRC, 0, 2, dims, NULL);
    request_add(ret_request, DNNL_ARG_DST, REQUEST_OUTPUT, 2, dims, NULL);
    return (step->node->op->id == OP_SOFTMAX
                ? dnnl.softmax_forward_desc_init(&ret_request->description.softmax,
                                                 dnnl_forward_inference, stored, 1)
                : dnnl.logsoftmax_forward_desc_init(&ret_request->description.softmax,
                                                    dnnl_forward_inference, stored, 1)) ==
           dnnl_success;
}
