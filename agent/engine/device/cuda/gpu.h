/* gpu.h: declarations that the files of this folder share. The state of a step of the schedule is a
 * `struct task`. It says in which layout the kernel reads every input and makes every output; if a
 * value has another layout, task_run converts it in the step's scratch memory. So all kernels can
 * be combined, and the choice of layouts affects only speed. */
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
    GPU_CHANNELS_LAST = 1 /* of the device's 16-bit type: kernels.h. Rank 2: [n, c] */
};

struct gpu {
    struct device base;
    int ordinal;                 /* among those that this process sees */
    enum kernels_float type;     /* of channels-last values; FLOAT32: there are none */
    bool has_tf32;               /* products and convolutions of float32 may round to 10 bits */
    cudaStream_t stream, beside; /* beside: for copies that are not ordered with the steps */
    cudaStream_t up, down;       /* for copies to and from the device while steps run */
    struct libraries libraries;
    cudnnHandle_t dnn;
    cublasLtHandle_t lt;
    cudnnActivationDescriptor_t relu, identity;
    struct packed *packed; /* packed_weights.h */
};

struct operand {
    void *data; /* while the task runs: the elements in `layout` */
    enum tensor_type type;
    struct shape shape;
    enum gpu_layout layout; /* that the kernel reads or writes */
    bool is_absent;
    bool is_converted; /* the value has the other layout: data is a copy in scratch memory ... */
    size_t offset;     /* ... at this place */
};

struct task {
    int (*run)(struct gpu *gpu, const struct task *task, struct error *err);
    const struct node *node;
    int input_count, output_count;
    struct operand *inputs, *outputs;
    void *params;                  /* private to the family; freed with the task ... */
    void (*release)(void *params); /* ... by this function; NULL: by free */
    size_t scratch_bytes;          /* of the kernel; it is before the copies of operands */
    void *scratch;                 /* set while the task runs */
    bool is_host;                  /* it cannot be part of a recording */
};

/* A step while it is prepared. Values may still be fused into the step. */
struct prepare {
    struct gpu *gpu;
    struct schedule *schedule;
    struct step *step;
    struct task *task;
    struct fact facts[8]; /* of the node's first inputs, for the functions of engine/ops that read
                             parameters */
    const struct fact *inputs[8];
};

static inline struct gpu *gpu_of(const struct device *device) {
    return (struct gpu *)(uintptr_t)device;
}

/* These convert errors of the libraries. */
NODISCARD int gpu_check(int code, const char *what, struct error *err); /* a cudaError_t */
NODISCARD int gpu_check_dnn(struct gpu *gpu, cudnnStatus_t status, const char *what,
                            struct error *err);
NODISCARD int gpu_check_lt(struct gpu *gpu, cublasStatus_t status, const char *what,
                           struct error *err);

/* ---- task.c --------------------------------------------------------------------------------- */

struct task *task_new(const struct schedule *schedule, const struct step *step);
void task_free(void *task);
/* Adds the copies of operands to the scratch memory, after the layouts of all slots are known. */
void task_finish(const struct schedule *schedule, struct step *step);
/* Runs the task with the inputs and outputs of the call. */
int task_run(const struct call *call, struct error *err);
/* Makes the task run the reference kernel on the host. */
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
/* For trainings. */
prepare_call slope_prepare, sum_to_prepare, softmax_gradient_prepare, round_prepare,
    dropout_prepare, loss_prepare, optimizer_prepare;
prepare_call norm_training_prepare, norm_gradient_prepare, matmul_gradient_prepare;
prepare_call conv_gradient_input_prepare, conv_gradient_weights_prepare, pool_gradient_prepare;
/* Whether rounding is not needed: the value is already in the device's 16-bit type, and the step's
 * readers can read that. */
bool round_is_done(const struct gpu *gpu, const struct schedule *schedule, const struct step *step);
/* InstanceNormalization, Resize and Pad of pictures, with what was fused into them. */
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
/* The same for constants that may be packed: float32 and lasting. */
const float *prepare_weights(const struct schedule *schedule, const struct node *node, int index);
/* The bounds of Clip, which are the node's inputs `first` and `first` + 1. They are arguments of a
 * kernel, so they must be known before the run; else ERROR_UNSUPPORTED. */
NODISCARD int prepare_clip(const struct prepare *prepare, int first, float *ret_low,
                           float *ret_high, struct error *err);
/* Whether the input is already channels last, so that the kernel should use that layout. */
bool prepare_is_channels_last(const struct prepare *prepare, int index);
void prepare_layout(struct prepare *prepare,
                    enum gpu_layout layout); /* of all inputs and outputs */
static inline bool task_has(const struct task *task, int index) {
    return index < task->input_count && !task->inputs[index].is_absent;
}
/* Row-major strides, in elements. */
void task_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]);
