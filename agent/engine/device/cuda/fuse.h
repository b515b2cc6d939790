/* fuse.h: which nodes become one step, before kernels are chosen. A step that has taken others has
 * a `struct fused` as its state until its family takes that over. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"

struct fused {
    const struct node *norm; /* BatchNormalization of constants, behind a Conv */
    int add;                 /* input that is added, before low and high; -1: none */
    float low, high;         /* of a Relu or Clip; infinite: none */
    bool has_bounds;
    bool drops_bias; /* an InstanceNormalization behind takes every bias away again */
    bool adds_last;  /* `add` is added after low and high */
    /* Behind an InstanceNormalization, or by themselves. */
    int repeat; /* every pixel so many times each way; 1: once */
    bool has_pad;
    enum kernels_edge edge;
    int64_t top, left;
};

void fuse_all(struct gpu *gpu, struct schedule *schedule);
/* What the step has taken; what it began with if nothing. */
struct fused fuse_result(const struct step *step);
