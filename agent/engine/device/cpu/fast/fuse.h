/* fuse.h: what fuse.c, fuse_training.c and step_gemm.c ask about slots, nodes and windows before
 * they fuse steps. */
#pragma once

#include "agent/engine/device/cpu/fast/steps.h"

enum {
    FUSE_WINDOW_MAX = 256, /* pixels of a window's sides and pads */
    FUSE_USERS_MAX = 3,
};

/* True if the slot is float32 with four dimensions, each within the limits of fuse_shape.c
 * (BATCH_MAX, CHANNELS_MAX, SIDE_MAX), and fewer than 2^30 elements. */
bool fuse_is_activation(const struct schedule *schedule, int slot);
/* The same with four or five dimensions. */
bool fuse_is_volume(const struct schedule *schedule, int slot);
/* The other operand of an addition of equal shapes, of which `slot` is one operand; -1: none. */
int fuse_other_operand(const struct schedule *schedule, const struct step *add, int slot);
/* The same of a product; also -1 for another kind of step. */
int fuse_factor_beside(const struct schedule *schedule, const struct step *step, int slot);
/* Lists the steps that read the slot, in their order, and returns their number; 0: there are more
 * than FUSE_USERS_MAX, or the slot is viewed, an output or not in the arena. */
int fuse_users(const struct schedule *schedule, int slot, struct step *users[FUSE_USERS_MAX]);

/* SiLU or HardSwish of a slot that nothing else reads. */
struct fuse_activation {
    void (*run)(float *y, size_t count); /* of vector_ops */
    struct step *gate;                   /* makes the factor; NULL: it is one node */
    struct step *last;                   /* makes the result */
};
/* False: other steps read the slot; *ret is not defined then. */
bool fuse_find_activation(const struct vector_ops *ops, const struct schedule *schedule, int slot,
                          struct fuse_activation *ret);
/* Bounds of a relu or clip; false when they are results of other steps, so unknown now. */
bool fuse_bounds(const struct schedule *schedule, const struct step *step, float *ret_low,
                 float *ret_high);
/* The scale and the shift of each channel of a batch normalisation, which the caller frees; false:
 * they are not constant, or it has further outputs. */
bool fuse_batch_norm(const struct schedule *schedule, const struct step *step, size_t channels,
                     float **ret_scale, float **ret_shift);
/* Products of the window's fields fit into an int; it has two or three dimensions. */
bool fuse_window_is_modest(const struct window *window);
/* The same with two dimensions. */
bool fuse_window_fits(const struct window *window);
/* The shape of a Conv or ConvTranspose with nothing fused; false if the fast kernels do not take
 * it. */
bool fuse_conv_shape(const struct vector_ops *ops, const struct schedule *schedule,
                     const struct step *step, struct conv_shape *ret_shape);
