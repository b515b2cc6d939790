/* exporter_constant.h: constants that the exported program does not have as such: an exporter has
 * added them, or computed them from its parameters and buffers. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

/* By its name: "onnx::MatMul_22" of constant folding, "val_9", "/layer/Constant_output_0"; not the
 * path of a module, "block.0.scale", or a plain number, which was a parameter's in old files. */
bool exporter_constant_has_name(const char *name);
/* "onnx::MatMul_22": PyTorch's exporter has computed it, and from a parameter or buffer: what it
 * computes of a formula's numbers alone is a Constant node. (A simplifier of files may have made an
 * initializer of that, which keeps such a name: roles.c asks what reads it.) */
bool exporter_constant_is_folded(const char *name);
/* Ones or zeros (any one number) that stand where a norm has scale and shift, because the module
 * has none: GroupNorm is exported as InstanceNormalization of these. */
bool exporter_constant_fills_norm(const struct graph *network, const struct node *node, int input);
