/* rewrite.h: what a graph becomes before it is run, by two passes over its nodes:
 *   expand   operators of older opsets, and of statistics, are written in today's: so devices,
 *            folding and fusing never hear of them (expand.c);
 *   widen    float16 and bfloat16, which kernels do not count in, become float32 around the nodes
 *            that count (widen.c).
 * Inputs and outputs keep names, types and shapes. What is trained or written to a file is the
 * graph as it was read. */
#pragma once

#include "agent/engine/graph/builder.h"

/* `from` must outlive the result (graph_release), which borrows its names, attributes, constants.
 */
NODISCARD int rewrite(const struct graph *from, struct graph *ret_graph, struct error *err);

/* The passes by themselves, in this order. */
NODISCARD int expand(const struct graph *from, struct graph *ret_graph, struct error *err);
/* Between nodes that count, values stay float32: nearer to the truth than rounding after every
 * node, and what float16 has no number for (from 65520 on) is not infinite yet. The model's own
 * Cast to 16 bits still rounds. Weights are converted once, here. */
NODISCARD int widen(const struct graph *from, struct graph *ret_graph, struct error *err);

/* A copy of the graph whose input 0, float32 [n, 3, h, w], is bytes (ops/bytes.h) under the same
 * name; and (out not NULL) whose output 0 is bytes, too, with `bad` as a further output behind all
 * others. `from` must outlive it. INVALID: input 0 is declared otherwise. */
NODISCARD int rewrite_bytes(const struct graph *from, const struct bytes *in,
                            const struct bytes *out, struct graph *ret_graph, struct error *err);
