/* rewrite.h: prepares a graph for running by passes over its nodes:
 *   expand   replaces operators of older opsets, and composed ones, by operators of the present
 *            standard, so that devices, folding and fusion need not support them (expand.c);
 *   whole    keeps values of 8 bits between quantized layers in float32 (expand_whole.c);
 *   widen    replaces float16 and bfloat16, in which kernels cannot compute, by float32 around the
 *            nodes that compute (widen.c);
 *   lift     replaces signals by images of height 1 around convolutions and pools of one dimension,
 *            so that they have the kernels of images (lift.c).
 * Inputs and outputs keep names, types and shapes. Training and model_write use the original
 * graph. */
#pragma once

#include "agent/engine/graph/builder.h"

/* `from` must outlive the result (graph_release), which borrows its names, attributes and
 * constants. */
NODISCARD int rewrite_graph(const struct graph *from, struct graph *ret_graph, struct error *err);

/* The single passes, in this order. */
NODISCARD int rewrite_expand(const struct graph *from, struct graph *ret_graph, struct error *err);
NODISCARD int rewrite_whole(const struct graph *from, struct graph *ret_graph, struct error *err);
/* Between nodes that compute, values stay float32. This is more accurate than rounding after every
 * node, and values beyond the range of float16 (from 65520 on) do not become infinite. A Cast to 16
 * bits in the model still rounds. Weights are converted once, here. */
NODISCARD int rewrite_widen(const struct graph *from, struct graph *ret_graph, struct error *err);
void rewrite_lift(const struct graph *from, struct graph *ret_graph);

/* Makes a copy of the graph in which input 0, float32 [n, 3, h, w], is bytes (ops/bytes.h) with the
 * same name. If `out` is not NULL, output 0 is bytes, too, and `bad` is added as the last output.
 * `from` must outlive it. INVALID: input 0 is declared differently. */
NODISCARD int rewrite_bytes(const struct graph *from, const struct pixel_conversion *in,
                            const struct pixel_conversion *out, struct graph *ret_graph,
                            struct error *err);
