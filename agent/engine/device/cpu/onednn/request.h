/* request.h: what a step asks of oneDNN: a primitive's description, and where its operands are.
 * One function per family of operators fills it; primitive.c makes it run. */
#pragma once

#include "agent/engine/graph/schedule.h"
#include "agent/engine/ops/infer/window.h"

#include <oneapi/dnnl/dnnl.h>

/* REQUEST_OUTPUT - i is the step's output i. */
enum { REQUEST_ARGS_MAX = 4, REQUEST_OUTPUT = -1 };

struct request_arg {
    int name;                /* DNNL_ARG_… */
    int input;               /* index among the step's inputs, or an output */
    dnnl_memory_desc_t lies; /* row-major, as the engine has it; the primitive may want another */
};

/* How it is to be done; the caller sets it before it asks. */
struct request_wish {
    int block; /* channels of the device's blocks, in which pictures whose slot has a layout are */
    bool keeps_blocks; /* such pictures are taken as they are, whatever the primitive likes best */
    bool winograd;     /* of gradients alone */
};

struct request {
    struct request_wish wish;
    union {
        dnnl_convolution_desc_t conv;
        dnnl_deconvolution_desc_t deconv;
        dnnl_matmul_desc_t matmul;
        dnnl_lrn_desc_t lrn;
        dnnl_softmax_desc_t softmax;
    } description;
    bool has_hint; /* a gradient's: the forward convolution it belongs to */
    dnnl_convolution_desc_t hint;
    int arg_count;
    struct request_arg args[REQUEST_ARGS_MAX];
};

/* false: not something to ask for. Operands are float32 and have elements, at most INT32_MAX. */
typedef bool request_fill(const struct schedule *schedule, const struct step *step,
                          struct request *ret_request);
request_fill request_conv, request_conv_transpose;                       /* windows.c */
request_fill request_conv_gradient_input, request_conv_gradient_weights; /* gradients.c */
request_fill request_matmul, request_gemm;                               /* products.c */
request_fill request_lrn, request_softmax;                               /* norms.c */

/* Empties it but for the wish. */
void request_begin(struct request *request);
/* Adds an operand and returns its description, which is row-major for strides NULL. */
const dnnl_memory_desc_t *request_add(struct request *request, int name, int input, int rank,
                                      const int64_t *dims, const int64_t *strides);
/* A convolution's strides, dilations and pads, as oneDNN counts them. */
struct request_geometry {
    dnnl_dims_t strides, dilations, pads_begin, pads_end;
};
/* false for windows that oneDNN is not made for: kernels that can be wholly in the padding. */
bool request_geometry(const struct window *window, bool transposed,
                      struct request_geometry *ret_geometry);
/* oneDNN has the weights as [g, m / g, c / g, …]; a transposed convolution of ONNX has them as
 * [c, m / g, …]. */
const dnnl_memory_desc_t *request_add_weights(struct request *request, int name, int input,
                                              const struct shape *w, const struct window *window,
                                              bool transposed);
/* The same numbers in any order the primitive likes. */
dnnl_memory_desc_t request_any(const dnnl_memory_desc_t *like);
/* Adds a convolution's picture, which is as its slot says, and returns what to ask for. */
dnnl_memory_desc_t request_add_picture(struct request *request, int name, int input,
                                       const struct slot *slot);
/* As the wish says; false: Winograd is asked for, and would not pay for this window. */
bool request_algorithm(const struct request *request, const struct window *window,
                       const struct slot *weights, dnnl_alg_kind_t *ret_algorithm);
