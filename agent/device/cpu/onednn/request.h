/* request.h: what a step asks of oneDNN: a primitive's description, and where its operands lie.
 * One function per family of operators fills it; primitive.c makes it run. */
#pragma once

#include "agent/graph/schedule.h"

#include <oneapi/dnnl/dnnl.h>

enum { REQUEST_ARGS_MAX = 4, REQUEST_OUTPUT = -1 };

struct request_arg {
    int name;                /* DNNL_ARG_… */
    int input;               /* index among the step's inputs, or REQUEST_OUTPUT */
    dnnl_memory_desc_t lies; /* row-major, as the engine has it; the primitive may want another */
};

struct request {
    union {
        dnnl_convolution_desc_t conv;
        dnnl_deconvolution_desc_t deconv;
        dnnl_matmul_desc_t matmul;
        dnnl_lrn_desc_t lrn;
        dnnl_softmax_desc_t softmax;
    } description;
    int arg_count;
    struct request_arg args[REQUEST_ARGS_MAX];
};

/* false: not something to ask for. Operands are float32 and have elements, at most INT32_MAX. */
typedef bool request_fill(const struct schedule *schedule, const struct step *step,
                          struct request *ret_request);
request_fill request_conv, request_conv_transpose; /* windows.c */
request_fill request_matmul, request_gemm;         /* products.c */
request_fill request_lrn, request_softmax;         /* norms.c */

/* Adds an operand and returns its description, which is row-major for strides NULL. */
const dnnl_memory_desc_t *request_add(struct request *request, int name, int input, int rank,
                                      const int64_t *dims, const int64_t *strides);
/* The same numbers in any order the primitive likes. */
dnnl_memory_desc_t request_any(const dnnl_memory_desc_t *like);
