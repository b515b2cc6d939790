/* bfloat.h: training in bfloat16 with float32 masters, as a graph. What a card would keep in 16
 * bits is marked by the internal operator RoundBfloat (x) -> x, rounded to bfloat16 (to nearest, to
 * even in the middle), as float32: any device computes the same numbers, and one with kernels of
 * that type stores what follows the mark in 16 bits. Its gradient is rounded likewise.
 *
 * Rounded: what products (Conv, ConvTranspose, Gemm, MatMul) read, weights included, which stay
 * float32 themselves; what every node makes of the network's input; so, backwards, the gradients of
 * all these. Float32: the sums within a kernel, biases, scales and statistics of norms, the
 * network's output, the loss, weights, the sums of their gradients between ranks (each rank's are
 * bfloat16's numbers in float32: fusion buffers are float32), the optimizer. No scale for the loss:
 * bfloat16 has float32's range. */
#pragma once

#include "agent/engine/graph.h"

/* A copy of the network with the marks; values keep their indices. `network` must outlive it
 * (graph_release). */
NODISCARD int bfloat_graph(const struct graph *network, struct graph *ret_graph, struct error *err);
