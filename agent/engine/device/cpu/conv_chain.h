/* conv_chain.h: elementwise nodes behind a convolution or a concatenation of channels, computed on
 * its outputs as soon as they are written. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"

/* Joins chains (chain/) to the convolutions and concatenations (fast/) whose blocked output only
 * they read, such as SiLU, HardSwish, GELU, PRelu or a residual behind one of these, or the norm of
 * DenseNet's layers: what is written is completed while it is in the nearest cache, so the output
 * of the convolution or concatenation itself is never in memory. Call once, after layout_choose,
 * when both kinds of steps are prepared. */
void conv_chain_fuse(const struct cpu_device *cpu, struct schedule *schedule);
/* Squeeze and excite: where only a 1x1 convolution reads the product of an activation and its gate,
 * it multiplies what it reads. Call before conv_chain_fuse, after layout_choose, when both kinds of
 * steps are prepared. */
void conv_chain_gates(struct cpu_device *cpu, struct schedule *schedule);
