/* gpu.h: what the files of this folder share. A step of the schedule has a `struct task` as its
 * state. The task says in which layout its kernel wants every input and makes every output; where a
 * value is in another layout, task_run converts it, in the step's scratch memory. So every
 * kernel meets every other, and which values are kept channels last is a question of speed alone.
 */
#pragma once

#include "agent/engine/device/cuda/channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_elementwise.h"
#include "agent/engine/device/cuda/kernels/kernels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/kernels/kernels_reduce.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/libraries.h"
#include "agent/engine/device/kernel.h"

/* Also the values of slot->layout. */
enum gpu_layout {
    GPU_ROW_MAJOR = 0,    /* of the slot's type */
    GPU_CHANNELS_LAST = 1 /* of the device's type of two bytes: kernels.h. Rank 2: [n, c] */
};

struct gpu {
    struct device base;
    int ordinal;                 /* among those that this process sees */
    enum kernels_float type;     /* of values that are channels last; FLOAT32: none are */
    bool has_tf32;               /* products and convolutions of float32 may round to 10 bits */
    cudaStream_t stream, beside; /* beside: of copies in no order with the steps */
    cudaStream_t up, down;       /* of pictures on their way */
    struct libraries libraries;
    cudnnHandle_t dnn;
    cublasLtHandle_t lt;
    cudnnActivationDescriptor_t relu, identity;
    struct packed *packed; /* packed_weights.h */
};

struct operand {
    void *data; /* while it runs: in the wanted layout */
    enum tensor_type type;
    struct shape shape;
    enum gpu_layout layout; /* that the kernel wants, or makes */
    bool is_absent;
    bool is_converted; /* it is in the other layout: this is a copy in scratch memory ... */
    size_t offset;     /* ... at this place */
};

struct task {
    int (*run)(struct gpu *gpu, const struct task *task, struct error *err);
    const struct node *node;
    int input_count, output_count;
    struct operand *inputs, *outputs;
    void *params;                  /* the family's; freed with the task ... */
    void (*release)(void *params); /* ... by this, if it is set, else by free */
    size_t scratch_bytes;          /* the kernel's own, which comes first */
    void *scratch;                 /* while it runs */
    bool is_host;                  /* it cannot be part of a recording */
};

/* A step while it is prepared. Values may still be fused into it. */
struct prepare {
    struct gpu *gpu;
    struct schedule *schedule;
    struct step *step;
    struct task *task;
    struct fact facts[8]; /* of the node's first inputs, for the readers of agent/ops */
    const struct fact *inputs[8];
};

static inline struct gpu *gpu_of(const struct device *device) {
    return (struct gpu *)(uintptr_t)device;
}

/* The places where the libraries' errors become ours. */
NODISCARD int gpu_check(int code, const char *what, struct error *err); /* a cudaError_t */
NODISCARD int gpu_check_dnn(struct gpu *gpu, cudnnStatus_t status, const char *what,
                            struct error *err);
NODISCARD int gpu_check_lt(struct gpu *gpu, cublasStatus_t status, const char *what,
                           struct error *err);

/* ---- task.c --------------------------------------------------------------------------------- */

struct task *task_new(const struct schedule *schedule, const struct step *step);
void task_free(void *task);
/* Adds the conversions to the scratch memory, once all slots have their layouts. */
void task_finish(const struct schedule *schedule, struct step *step);
/* A call with inputs and outputs where they are. */
int task_run(const struct call *call, struct error *err);
/* Has the task run on the host, by the reference kernel. */
void task_prepare_host(struct prepare *prepare);

/* ---- families: each sets task->run and what it needs. -1, ERROR_UNSUPPORTED: there is no kernel
 * for this case, and the host's is taken. ---------------------------------------------------- */

typedef int prepare_call(struct prepare *prepare, struct error *err);
prepare_call unary_prepare, binary_prepare, where_prepare, cast_prepare, not_prepare;
prepare_call transpose_prepare, slice_prepare, expand_prepare, concat_prepare, split_prepare,
    pad_prepare, tile_prepare, gather_prepare, blocks_prepare, resize_prepare;
prepare_call reduce_prepare, softmax_prepare, arg_max_prepare, layer_norm_prepare, lrn_prepare,
    norm_prepare;
prepare_call conv_prepare, conv_transpose_prepare, pool_prepare, global_pool_prepare;
prepare_call gemm_prepare, matmul_prepare;
prepare_call from_bytes_prepare, to_bytes_prepare;
/* Of trainings. */
prepare_call slope_prepare, sum_to_prepare, softmax_gradient_prepare, round_prepare,
    dropout_prepare, loss_prepare, optimizer_prepare;
prepare_call norm_training_prepare, norm_gradient_prepare, matmul_gradient_prepare;
prepare_call conv_gradient_input_prepare, conv_gradient_weights_prepare, pool_gradient_prepare;
/* The step would round what is in the device's type of two bytes already, and its readers may
 * read that. */
bool round_is_done(const struct gpu *gpu, const struct schedule *schedule, const struct step *step);
/* InstanceNormalization, Resize, Pad of pictures, and what was fused behind them. */
prepare_call apply_prepare;

/* The table of all of them, by op id. */
struct family {
    struct kernel kernel;
    prepare_call *prepare;
};
extern const struct family host_family;

/* ---- what families need --------------------------------------------------------------------- */

NODISCARD int prepare_refuse(struct error *err, const char *why); /* ERROR_UNSUPPORTED */
/* The elements of a constant input of the node, on the host; NULL: absent, or computed. */
const void *prepare_constant(const struct prepare *prepare, int index);
/* The same, float32 and lasting: what may be packed. */
const float *prepare_weights(const struct schedule *schedule, const struct node *node, int index);
/* Clip's bounds, the node's inputs `first` and the next: arguments of a kernel, so they must be
 * known before the run; else -1, ERROR_UNSUPPORTED. */
NODISCARD int prepare_clip(const struct prepare *prepare, int first, float *ret_low,
                           float *ret_high, struct error *err);
/* The input is channels last already, so the kernel should want that layout. */
bool prepare_is_channels_last(const struct prepare *prepare, int index);
void prepare_layout(struct prepare *prepare,
                    enum gpu_layout layout); /* of all inputs and outputs */
static inline bool task_has(const struct task *task, int index) {
    return index < task->input_count && !task->inputs[index].is_absent;
}
/* Row-major strides, in elements. */
void task_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]);
