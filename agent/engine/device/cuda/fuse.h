/* fuse.h: which nodes are fused into one step, before kernels are chosen. The state of a step that
 * has absorbed others is a `struct fused` until its family takes that over. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"

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

void fuse_all(struct gpu *gpu, struct schedule *schedule);
/* What was fused into the step; the initial values if nothing was. */
struct fused fuse_result(const struct step *step);
