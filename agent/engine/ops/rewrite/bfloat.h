/* bfloat.h: mixed-precision training in bfloat16 with float32 master weights, expressed in the
 * graph. Values that a GPU would store in 16 bits are marked by the internal operator RoundBfloat
 * (x) -> x, which rounds to bfloat16 (to nearest even) and returns float32. So every device
 * computes the same numbers, and a device with kernels of that type stores the marked values in 16
 * bits. The gradient of the operator rounds, too.
 *
 * Rounded: the operands of products (Conv, ConvTranspose, Gemm, MatMul), including copies of
 * weights; the output of every node that depends on the network's input; and the gradients of all
 * these. Float32: sums within a kernel, biases, scales and statistics of norms, the network's
 * output, the loss, master weights, the sums of gradients between ranks (gradients of a rank are
 * bfloat16 numbers stored as float32, because fusion buffers are float32), the optimizer. The loss
 * is not scaled, because bfloat16 has the range of float32. */
#pragma once

#include "agent/engine/graph.h"

/* A copy of the network with the marks; values keep their indices. `network` must outlive it
 * (graph_release). */
NODISCARD int bfloat_graph(const struct graph *network, struct graph *ret_graph, struct error *err);
