// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/onednn/onednn.h"

#include "agent/engine/device/cpu/onednn/pieces.h"
#include "agent/engine/device/cpu/onednn/primitive.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>

struct onednn *onednn_new(enum isa isa) {
    struct onednn *onednn = x_calloc(1, sizeof *onednn);
    onednn->isa = isa;
    return onednn;
}

void onednn_free(struct onednn *onednn) {
    if (onednn->is_open) {
        for (size_t i = 0; i < onednn->kept_count; i++) {
            dnnl.memory_destroy(onednn->kept[i].memory);
        }
        dnnl.stream_destroy(onednn->stream);
        dnnl.engine_destroy(onednn->engine);
    }
    free(onednn->kept);
    free(onednn);
}

/* Before the first call of oneDNN: most networks have no step for it. *ret_works: whether it works
 * on this machine. */
static int open_once(struct onednn *onednn, bool *ret_works, struct error *err) {
    if (!onednn->is_open) {
        if (onednn_library_open(err) < 0) {
            return -1;
        }
        onednn->is_open = true;
        if (onednn->isa != ISA_AVX512) {
            /* It is refused after primitives exist, and on other processors; neither is an error.
             */
            (void)dnnl.set_max_cpu_isa(onednn->isa == ISA_AVX2 ? dnnl_cpu_isa_avx2
                                                               : dnnl_cpu_isa_sse41);
        }
        onednn->works = dnnl.engine_create(&onednn->engine, dnnl_cpu, 0) == dnnl_success &&
                        dnnl.stream_create(&onednn->stream, onednn->engine,
                                           dnnl_stream_default_flags) == dnnl_success;
    }
    omp.set_num_threads(1); /* a primitive divides its work when it is created */
    *ret_works = onednn->works;
    return 0;
}

static int error_from_onednn(struct error *err, dnnl_status_t status, const char *what) {
    enum error_kind kind = status == dnnl_out_of_memory   ? ERROR_EXHAUSTED
                           : status == dnnl_unimplemented ? ERROR_UNSUPPORTED
                                                          : ERROR_BUG;
    return error_set(err, kind, "oneDNN cannot %s: %s", what,
                     kind == ERROR_EXHAUSTED     ? "out of memory"
                     : kind == ERROR_UNSUPPORTED ? "not implemented"
                                                 : "unexpected status");
}

static int onednn_run(const struct call *call, struct error *err) {
    const struct primitive *primitive = call->state;
    omp.set_num_threads(1);
    dnnl_status_t status = primitive_run(primitive, call, NULL);
    return status == dnnl_success ? 0 : error_from_onednn(err, status, "run");
}
static const struct kernel onednn_kernel = {"oneDNN", onednn_run};

static int pieces_kernel_run(const struct call *call, struct error *err) {
    dnnl_status_t status = pieces_run(call->state, call);
    return status == dnnl_success ? 0 : error_from_onednn(err, status, "run");
}
static const struct kernel pieces_kernel = {"oneDNN in pieces", pieces_kernel_run};

static int planned_run(const struct call *call UNUSED, struct error *err) {
    return error_set(err, ERROR_BUG, "oneDNN: a step was planned and not prepared");
}
const struct kernel onednn_planned = {"oneDNN, planned", planned_run};

static request_fill *request_of(const struct schedule *schedule, const struct step *step) {
    int id = step->node->op->id;
    bool has_shape = id == OP_CONV_GRADIENT_INPUT || id == OP_CONV_GRADIENT_WEIGHTS;
    for (int i = 0; i <= step->input_count; i++) {
        int at = i < step->input_count ? step->inputs[i] : step->outputs[0];
        if (i == 1 && has_shape) {
            continue; /* the shape of the output, in integers */
        }
        const struct schedule_slot *slot = at < 0 ? NULL : &schedule->slots[at];
        int64_t count = slot ? shape_count(&slot->shape) : 1;
        if (slot && (slot->type != TENSOR_FLOAT32 || count < 1 || count > INT32_MAX)) {
            return NULL;
        }
    }
    switch (id) {
    case OP_CONV:
        return request_conv;
    case OP_CONV_GRADIENT_INPUT:
        return request_conv_gradient_input;
    case OP_CONV_GRADIENT_WEIGHTS:
        return request_conv_gradient_weights;
    case OP_CONV_TRANSPOSE:
        return request_conv_transpose;
    case OP_GEMM:
        return request_gemm;
    case OP_LOG_SOFTMAX:
    case OP_SOFTMAX:
        return request_softmax;
    case OP_LRN:
        return request_lrn;
    case OP_MATMUL:
        return request_matmul;
    default:
        return NULL;
    }
}

static bool may_be_blocked(const struct schedule *schedule, const struct step *step) {
    int id = step->node && !step->kernel ? step->node->op->id : -1;
    return (id == OP_CONV || id == OP_CONV_GRADIENT_INPUT || id == OP_CONV_GRADIENT_WEIGHTS) &&
           schedule->slots[step->inputs[0]].shape.rank == 4;
}

int onednn_plan(struct onednn *onednn, int block, struct schedule *schedule, struct error *err) {
    bool works = true;
    if (block != 8 && block != 16) {
        return 0;
    }
    onednn->block = block;
    for (size_t i = 0; i < schedule->step_count && works; i++) {
        struct step *step = &schedule->steps[i];
        struct request request = {.options = {.block = block}};
        request_fill *fill = may_be_blocked(schedule, step) ? request_of(schedule, step) : NULL;
        if (fill && open_once(onednn, &works, err) < 0) {
            return -1;
        }
        if (fill && works) {
            bool takes = fill(schedule, step, &request) && primitive_is_offered(onednn, &request);
            step->kernel = takes ? &onednn_planned : NULL;
        }
    }
    return 0;
}

static bool pieces_try(struct onednn *onednn, struct schedule *schedule, struct step *step,
                       request_fill *fill, const struct request_options *options) {
    struct pieces *pieces;
    if (pieces_count(schedule, step) == 1 ||
        pieces_new(onednn, schedule, step, fill, options, &pieces) != dnnl_success) {
        return false;
    }
    step->state = pieces;
    step->release = pieces_free;
    step->scratch_bytes = pieces_scratch_bytes(pieces);
    step->kernel = &pieces_kernel;
    return true;
}

static bool primitive_try(struct onednn *onednn, struct schedule *schedule, struct step *step,
                          request_fill *fill, const struct request_options *options) {
    struct request request = {.options = *options};
    struct primitive *primitive;
    if (!fill(schedule, step, &request) ||
        primitive_new(onednn, schedule, step, &request, &primitive) != dnnl_success) {
        return false;
    }
    step->state = primitive;
    step->release = primitive_free;
    step->scratch_bytes = primitive->scratch_bytes;
    step->kernel = &onednn_kernel;
    return true;
}

int onednn_step_try(struct onednn *onednn, struct schedule *schedule, struct step *step,
                    struct error *err) {
    bool works = false;
    request_fill *fill = request_of(schedule, step);
    if (fill && open_once(onednn, &works, err) < 0) {
        return -1;
    }
    const struct request_options attempts[] = {
        {.block = onednn->block, .keeps_blocks = true, .winograd = true},
        {.block = onednn->block, .keeps_blocks = true},
        {.block = onednn->block},
    };
    for (size_t i = 0; i < ARRAY_LEN(attempts) && works && !step->kernel; i++) {
        if (!pieces_try(onednn, schedule, step, fill, &attempts[i])) {
            primitive_try(onednn, schedule, step, fill, &attempts[i]);
        }
    }
    return 0;
}
