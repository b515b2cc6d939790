/* steps.h: how the fast kernels take over a schedule: fuse.c fuses neighbouring nodes into steps,
 * ../layout.c decides which values are blocked, the other files prepare and run the steps. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/conv.h"
#include "agent/engine/device/cpu/vector/vector_training.h"
#include "agent/engine/ops/infer/resize.h"
#include "agent/engine/ops/infer/window.h"
#include "agent/engine/ops/table.h"

/* Bits of slot->layout of this device; 0 is row-major. */
enum layout {
    LAYOUT_BLOCKED = 1, /* channels in groups of vector_ops.block; set with each of the others */
    LAYOUT_AFFINE = 2,  /* a scale and a shift per sample and channel are stored behind the values,
                           and the step that reads the values still has to apply them */
    LAYOUT_RELU = 4,    /* with LAYOUT_AFFINE: that step has to apply a relu after them, too */
};

/* Whether there is a step, of this operator, that has no kernel yet. */
static inline bool step_is_op(const struct step *step, int id) {
    return step && step->node && !step->kernel && step->node->op->id == id;
}

/* A convolution with what was fused into it; the state of its step. */
struct conv_step {
    const struct node *node; /* the convolution; the key of its cached weights */
    /* A 1x1 convolution in front of this depthwise one; owned; NULL: none. */
    struct conv_step *first;
    void (*activate)(float *y, size_t count); /* as in struct conv (conv.h) */
    struct conv_shape shape;
    struct conv_source source; /* scale and shift: owned */
    const void *norm_key;      /* which batch normalisation is folded into the weights: the address
                                  of its scale, for the key of the cached weights; NULL: none */
    bool normed;               /* an instance normalisation (gamma, beta, epsilon) follows ... */
    bool relu_after_norm;      /* ... and a relu follows that */
    const float *gamma, *beta;
    float epsilon;
    float low, high; /* the result is clamped to [low, high] (relu, clip); infinities: it is not */
    int add; /* index, among the step's inputs, of a value that is added to the result; -1: none */
    /* Index, among the step's inputs, of numbers [n, c, 1, 1] by which the channels of the input
     * are multiplied when they are read; -1: none. */
    int gate;
    struct conv_after *after; /* ../conv_chain.h, called with a struct call; owned; NULL: none */
    /* Set when the layouts are known. */
    struct conv conv;
    int in_layout, add_layout, out_layout;
    /* A dilated convolution that is computed as a plain one (dilated.h); where the input and the
     * output of that are in the step's scratch memory. */
    bool is_split;
    struct conv_shape plain;
    size_t plain_in, plain_out;
    /* Where blocked copies of input, result and `add` are in the step's scratch memory; SIZE_MAX:
     * no copy is needed. */
    size_t in_offset, out_offset, add_offset;
    size_t gate_offset; /* of the scales and shifts that `gate` gives */
};

/* An addition, or a relu or clip alone; the state of its step. */
struct combine_step {
    bool adds;       /* two operands */
    float low, high; /* as in conv_step */
    int in_layout[2], out_layout;
};

/* A concatenation that elementwise nodes complete; the state of its step, which else has none. */
struct concat_step {
    int operands;             /* the first inputs of the step */
    struct conv_after *after; /* as in conv_step */
};

/* A maximum or average pool, or the gradient of the first; the state of its step. */
struct pool_step {
    struct window window;
    bool is_average, counts_pads; /* of an average: all cells inside the padded input count */
    int in_layout, out_layout;
};

extern const struct kernel fast_conv, fast_combine, fast_concat, fast_pool, fast_global_pool,
    fast_resize, fast_gemm;

/* fuse.c: gives nodes the kernels of this device and fuses their neighbours. */
void fuse_steps(const struct vector_ops *ops, struct schedule *schedule);

/* The functions step_x_prepare complete a step's state: they copy the chosen layouts of its inputs
 * and outputs into it; some set step->scratch_bytes; convolutions also choose an algorithm and pack
 * their weights. cpu_prepare (../prepare.c) calls them once per step, after fuse_steps and
 * layout_choose and before the first run. step_conv_free frees the state of a convolution, a struct
 * conv_step, which owns memory; the other states are freed with free. */
void step_conv_free(void *state);
void step_conv_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
/* For a prepared convolution: whether its input may be multiplied by a gate; lets it be multiplied
 * by this slot. The input is blocked and nothing is pending on it. */
bool step_conv_takes_gate(const struct step *step);
void step_conv_add_gate(struct cpu_device *cpu, struct schedule *schedule, struct step *step,
                        int slot);
void step_combine_prepare(struct schedule *schedule, struct step *step);
void step_pool_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
void step_resize_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
/* The state of a Resize of height and width; NULL: it is another one. */
void *step_resize_new(const struct resize *resize, const struct shape *x);
void step_resize_free(void *state);
/* Whether the operands' layouts make it possible to copy whole blocks. */
bool step_concat_fits(const struct vector_ops *ops, const struct schedule *schedule,
                      const struct step *step);
void step_concat_free(void *state);
/* Lets the steps that make the operands write them where the concatenation has them, so that it
 * copies only the others, or is removed. Call for the last concatenation first, when all steps are
 * fused. */
void step_concat_join(struct schedule *schedule, struct step *step);
/* Gives the step a fast kernel if it multiplies by a constant matrix, and packs that. A constant
 * row that is added and a relu that follow are fused: the step, which is returned, is at the relu's
 * place then, and `step` is empty. NULL: another kind of step. */
struct step *step_gemm_try(struct cpu_device *cpu, struct schedule *schedule, struct step *step);

/* The tensor, float32 [n, c, ...] and in this layout (bits of enum layout), as conv_run
 * reads or writes it: its data, and where its scales and shifts are. Borrows tensor->data. */
struct conv_operand step_operand(const struct vector_ops *ops, const struct tensor *tensor,
                                 int layout);
/* Bytes of a tensor of this shape [n, c, ...] in a blocked layout. */
size_t step_layout_bytes(const struct vector_ops *ops, const struct shape *shape, int layout);
/* What a reader still has to apply (struct pending, vector.h) to the values of sample n in this
 * block of channels: scale, shift and relu. shape: [n, c, ...]. Borrows operand->affine. */
struct pending step_pending(const struct vector_ops *ops, const struct conv_operand *operand,
                            const struct shape *shape, int n, int block);
