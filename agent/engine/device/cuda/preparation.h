/* preparation.h: how a step gets its kernel: one prepare function per family of operators, and what
 * these functions share. gpu_prepare.c calls them. */
#pragma once

#include "agent/engine/device/cuda/task.h"

/* A step while it is prepared. Values may still be fused into the step. */
struct preparation {
    struct gpu *gpu;
    struct schedule *schedule;
    struct step *step;
    struct task *task;
    struct node_facts facts;
    const struct fact *const *inputs; /* of `facts` */
};

typedef int family_prepare(struct preparation *prepare, struct error *err);
family_prepare unary_prepare, binary_prepare, where_prepare, cast_prepare, not_prepare;
family_prepare transpose_prepare, slice_prepare, expand_prepare, concat_prepare, split_prepare,
    pad_prepare, tile_prepare, gather_prepare, blocks_prepare, resize_prepare;
family_prepare reduce_prepare, softmax_prepare, arg_max_prepare, layer_norm_prepare, lrn_prepare,
    norm_prepare;
family_prepare conv_prepare, conv_transpose_prepare, pool_prepare, global_pool_prepare;
family_prepare gemm_prepare, matmul_prepare;
family_prepare from_bytes_prepare, to_bytes_prepare;
/* For trainings. */
family_prepare slope_prepare, sum_to_prepare, softmax_gradient_prepare, round_prepare,
    dropout_prepare, loss_prepare, optimizer_prepare, global_norm_prepare;
family_prepare norm_training_prepare, norm_gradient_prepare, matmul_gradient_prepare;
family_prepare conv_gradient_input_prepare, conv_gradient_weights_prepare, pool_gradient_prepare;
/* InstanceNormalization, Resize and Pad of activations, with what was fused into them. */
family_prepare apply_prepare;

/* The table of all of them, by op id. */
struct family {
    struct kernel kernel;
    family_prepare *prepare;
};
extern const struct family host_family;

/* Makes the task run the reference kernel on the host. */
void task_prepare_host(struct preparation *prepare);

NODISCARD int preparation_refuse(struct error *err, const char *why); /* ERROR_UNSUPPORTED */
/* The elements of a constant input of the node, on the host; NULL: absent, or computed. */
const void *preparation_constant(const struct preparation *prepare, int index);
/* The same for constants that may be packed: float32 and lasting. */
const float *preparation_weights(const struct schedule *schedule, const struct node *node,
                                 int index);
/* The bounds of Clip, which are the node's inputs `first` and `first` + 1. They are arguments of a
 * kernel, so they must be known before the run; else ERROR_UNSUPPORTED. */
NODISCARD int preparation_clip(const struct preparation *prepare, int first, float *ret_low,
                               float *ret_high, struct error *err);
/* Whether the input is already channels last, so that the kernel should use that layout. */
bool preparation_is_channels_last(const struct preparation *prepare, int index);
void preparation_layout(struct preparation *prepare,
                        enum gpu_layout layout); /* of all inputs and outputs */
