/* steps.h: how the fast kernels take over a schedule: fuse.c makes steps of neighbouring nodes,
 * ../layout.c decides which values are in blocks, the others prepare and run the steps. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/conv.h"
#include "agent/engine/ops/infer/window.h"

/* slot->layout of this device: 0 is row-major. */
enum layout {
    LAYOUT_BLOCKED = 1,
    LAYOUT_AFFINE = 2, /* blocked, scale and shift are behind the values and are pending */
    LAYOUT_RELU = 4,   /* with LAYOUT_AFFINE: a relu is pending, too */
};

/* A convolution with what was fused into it; the state of its step. */
struct conv_step {
    const struct node *node; /* the convolution itself: what its weights are kept under */
    struct conv_step *first; /* a 1x1 one in front of this depthwise one; owned; NULL: none */
    struct conv_shape shape;
    struct conv_source source;    /* scale and shift: owned */
    const void *norm_key;         /* a folded batch normalisation's scale; NULL: none */
    bool normed, relu_after_norm; /* an instance normalisation follows */
    const float *gamma, *beta;
    float epsilon, low, high;
    int add; /* index of the residual among the step's inputs; -1: none */
    /* Set when the layouts are known. */
    struct conv conv;
    int in_layout, add_layout, out_layout;
    size_t in_offset, out_offset, add_offset; /* in the scratch; SIZE_MAX: not there */
};

/* An addition, or a relu or clip alone; the state of its step. */
struct combine_step {
    bool adds; /* two operands */
    float low, high;
    int in_layout[2], out_layout;
};

struct pool_step {
    struct window window;
    int out_layout;
};

/* A normalisation over the batch with the addition and the relu behind it; the state of its step.
 * Inputs: x, scale, shift[, what is added]. */
struct norm_step {
    bool adds, relu;
    int in_layout, add_layout, out_layout;
};

/* Its gradient with the relu and the sum of two gradients in front of it. Inputs: dy, x, scale,
 * mean, variance, and those named here by their index (-1: not there). Outputs: dx, dscale,
 * dshift[, the gradient behind the relu, where others read it, too]. */
struct norm_gradient_step {
    int other, y, shift; /* y: the relu's output; shift: its input is the norm of this x */
    int dy_layout, other_layout, x_layout, y_layout, dx_layout, kept_layout;
};

extern const struct kernel fast_conv, fast_combine, fast_concat, fast_max_pool, fast_global_pool,
    fast_gemm, fast_tanh, fast_sigmoid, fast_norm, fast_norm_gradient, fast_pool_gradient;

/* fuse_training.c: the same for what training graphs have; before fuse_steps. */
void fuse_training(struct schedule *schedule);
/* For both. Whether the slot is float32 of four dimensions, not too large; a node's inputs. */
bool fuse_is_picture(const struct schedule *schedule, int slot);
/* The other operand of an addition of equal shapes that `slot` is one of; -1: none. */
int fuse_other_operand(const struct schedule *schedule, const struct step *add, int slot);
/* Bounds of a relu or clip; false when they are computed. */
bool fuse_bounds(const struct schedule *schedule, const struct step *step, float *ret_low,
                 float *ret_high);
bool fuse_is_modest(const struct window *window); /* products of its numbers fit into an int */

/* fuse.c: makes convolutions, additions and pools of this device and absorbs neighbours. */
void fuse_steps(struct schedule *schedule);

void conv_step_free(void *state);
void conv_step_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
void combine_step_prepare(struct schedule *schedule, struct step *step);
void pool_step_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
void norm_step_prepare(const struct schedule *schedule, struct step *step);
void norm_gradient_step_prepare(const struct schedule *schedule, struct step *step);
/* Whether the operands' layouts allow to copy whole blocks. */
bool concat_fits(const struct vector_ops *ops, const struct schedule *schedule,
                 const struct step *step);
/* Makes the step fast if it is a function of numbers that vectors have. */
void unary_step_try(const struct schedule *schedule, struct step *step);
/* Makes the step fast if it is a product with a constant matrix. A relu behind it becomes a part of
 * it: then the step is at the relu's place and this one is dropped. */
void gemm_step_try(struct cpu_device *cpu, struct schedule *schedule, struct step *step);

/* Only row-major float32 of four dimensions comes here. */
struct operand operand_of(const struct vector_ops *ops, const struct tensor *tensor, int layout);
size_t layout_bytes(const struct vector_ops *ops, const struct shape *shape, int layout);
struct pending pending_of(const struct vector_ops *ops, const struct operand *operand,
                          const struct shape *shape, int n, int block);

/* `count` pixels, from `first` on, of a block of a picture. */
struct stretch {
    int n, block;
    size_t first, count;
};
/* Where they are, or in `room` if they are not in blocks. */
const float *stretch_read(const struct vector_ops *ops, const struct operand *from,
                          const struct shape *shape, const struct stretch *stretch, float *room);
/* Where they are to be written, which is `room` if they are not to be in blocks: then stretch_put
 * brings them where they belong. */
float *stretch_room(const struct vector_ops *ops, const struct operand *to,
                    const struct shape *shape, const struct stretch *stretch, float *room);
void stretch_put(const struct vector_ops *ops, const struct operand *to, const struct shape *shape,
                 const struct stretch *stretch, const float *from);

/* Weights in a kernel's order, made once per session; freed with the cache. */
struct weights_cache;
struct weights_key {
    const void *node; /* one constant may be two nodes' weights, in different shapes */
    const void *weights, *bias, *norm;
    enum conv_algorithm algorithm;
    bool planar;
};
struct weights_cache *weights_cache_new(void);
void weights_cache_free(struct weights_cache *cache);
/* NULL when it is not there; the cache owns what is put. */
struct conv_weights *weights_cache_get(const struct weights_cache *cache,
                                       const struct weights_key *key);
void weights_cache_put(struct weights_cache *cache, const struct weights_key *key,
                       struct conv_weights *weights);
