/* made.h: constants that an exporter has made, and not the program that was exported. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

/* By its name: "onnx::MatMul_22" of constant folding, "val_9", "/layer/Constant_output_0"; not the
 * path of a module, "block.0.scale", or a plain number, which was a parameter's in old files. */
bool made_by_exporter(const char *name);
/* Ones or zeros (any one number) that stand where a norm has scale and shift, because the module
 * has none: GroupNorm is exported as InstanceNormalization of these. */
bool made_for_norm(const struct graph *network, const struct node *node, int input);
