/* request.h: what a step requests from oneDNN: the description of a primitive, and its operands.
 * One function per family of operators fills it; primitive.c creates and runs the primitive. */
#pragma once

#include "agent/engine/device/cpu/onednn/onednn_library.h"
#include "agent/engine/graph/schedule.h"
#include "agent/engine/ops/infer/window.h"

/* REQUEST_OUTPUT - i is the step's output i. No primitive here has more than REQUEST_ARGS_MAX
 * operands. */
enum { REQUEST_ARGS_MAX = 4, REQUEST_OUTPUT = -1 };

struct request_arg {
    int name;  /* DNNL_ARG_… */
    int input; /* index of the step's inputs, or REQUEST_OUTPUT - i */
    dnnl_memory_desc_t
        stored; /* row-major, as in the engine; the primitive may use another format */
};

/* The caller sets these before the request is filled. */
struct request_options {
    int block;         /* channels per block of activations whose slot has the blocked layout
                          (layout.h): 8 or 16 */
    bool keeps_blocks; /* use the blocked layout even if the primitive prefers another format;
                          otherwise the activation is reordered */
    bool winograd; /* try Winograd. Forward convolutions refuse it: its rounding would change the
                      masks of relus, which the backward pass uses */
};

struct request {
    struct request_options options;
    union {
        dnnl_convolution_desc_t conv;
        dnnl_deconvolution_desc_t deconv;
        dnnl_matmul_desc_t matmul;
        dnnl_lrn_desc_t lrn;
        dnnl_softmax_desc_t softmax;
    } description;
    bool has_hint; /* for a gradient: oneDNN wants its forward convolution */
    dnnl_convolution_desc_t hint;
    int arg_count;
    struct request_arg args[REQUEST_ARGS_MAX];
};

/* Describes the step for oneDNN; *ret_request has its options. False: oneDNN should not be used for
 * it. Operands are float32 with 1 to INT32_MAX elements. */
typedef bool request_fill(const struct schedule *schedule, const struct step *step,
                          struct request *ret_request);
request_fill request_conv, request_conv_transpose;                       /* windows.c */
request_fill request_conv_gradient_input, request_conv_gradient_weights; /* gradients.c */
request_fill request_matmul, request_gemm;                               /* products.c */
request_fill request_lrn, request_softmax;                               /* norms.c */

/* Empties the request, except for its options. */
void request_begin(struct request *request);
/* Adds an operand and returns its description, a pointer into the request. At most REQUEST_ARGS_MAX
 * (asserted). strides NULL: row-major. */
const dnnl_memory_desc_t *request_add(struct request *request, int name, int input, int rank,
                                      const int64_t *dims, const int64_t *strides);
/* A convolution's strides, dilations and pads in oneDNN's convention. */
struct request_padding {
    dnnl_dims_t strides, dilations, pads_begin, pads_end;
};
/* False for windows that oneDNN does not support: kernels that can be completely in the padding. */
bool request_pad(const struct window *window, bool transposed, struct request_padding *ret_padding);
/* oneDNN has the weights as [g, m / g, c / g, …]; a transposed convolution of ONNX has them as
 * [c, m / g, …]. */
const dnnl_memory_desc_t *request_add_weights(struct request *request, int name, int input,
                                              const struct shape *w, const struct window *window,
                                              bool transposed);
/* The same tensor in the memory format that the primitive prefers. */
dnnl_memory_desc_t request_any(const dnnl_memory_desc_t *like);
/* Adds a convolution's activation [n, c, ...] in the layout of its slot, and returns the
 * description to request. */
dnnl_memory_desc_t request_add_activation(struct request *request, int name, int input,
                                          const struct schedule_slot *slot);
/* Sets the algorithm. False: the options ask for Winograd, and the direct algorithm is at least as
 * fast for this window. */
bool request_algorithm(const struct request *request, const struct window *window,
                       const struct schedule_slot *weights, dnnl_alg_kind_t *ret_algorithm);
