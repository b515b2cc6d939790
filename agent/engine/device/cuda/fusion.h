/* fusion.h: fuses nodes into one step, before kernels are chosen. The state of a step that has
 * absorbed others is a `struct fused` until the step's prepare function takes that over. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"

struct fused {
    const struct node *norm; /* BatchNormalization with constants, after a Conv */
    int add;                 /* input that is added, before low and high; -1: none */
    float low, high;         /* of a Relu or Clip; infinite: none */
    bool has_bounds;
    bool drops_bias; /* an InstanceNormalization follows, which removes every bias */
    bool adds_last;  /* `add` is added after low and high */
    /* After an InstanceNormalization, or in a step of their own. */
    int repeat; /* every pixel is repeated this often in both directions; 1: not repeated */
    bool has_pad;
    enum kernels_edge edge;
    int64_t top, left;
};

void fusion_apply(struct gpu *gpu, struct schedule *schedule);
/* What was fused into the step; the initial values if nothing was. */
struct fused fusion_of(const struct step *step);
