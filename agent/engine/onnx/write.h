/* write.h: a graph -> an ONNX file's bytes. What is written was read before, or made by us: the
 * standard's operators alone, in one version of it. */
#pragma once

#include "agent/engine/graph/graph.h"
#include "lib/buffer.h"

#define WRITE_BYTES_MAX (((size_t)1 << 31) - 1) /* protocol buffers' own limit */

struct write_options {
    int opset; /* of all nodes */
    /* Elements in place of a constant's own, as trained weights are; one per value of the graph,
     * NULL where it keeps its own. NULL: all do. */
    const void *const *weights;
};

/* Appends to the buffer, whose max should be WRITE_BYTES_MAX. Values without a name get one.
 * Constants that nobody reads are left out. INVALID: a node of another opset; EXHAUSTED: too large.
 */
NODISCARD int model_write(const struct graph *graph, const struct write_options *options,
                          struct buffer *buffer, struct error *err);
