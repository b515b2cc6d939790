/* bytes.h: images as bytes at the ends of a network that computes planes of floats: two internal
 * operators, and the pass that adds them to a graph. So a device receives bytes, a quarter of the
 * size of floats, and converts them itself.
 *
 *   FromBytes (x uint8 [n, h, w, 3]) -> y float32 [n, 3, h, w]: plane k is byte k * scale[k] +
 *             shift[k]; with `turned` it is made from byte 2 - k. Attributes scale, shift (3
 *             numbers each), turned (0, 1)
 *   ToBytes   (x float32 [n, 3, h, w]) -> y uint8 [n, h, w, 3], bad int32 [n, h]: the reverse: byte
 *             k (2 - k with `turned`) is x * scale + shift of plane k, truncated to an integer in
 *             0 to 255. bad: for each row, the number of pixels from the first one with a NaN to
 *             the end of the row; 0: the row has none. So a caller that cuts columns off can see
 *             whether a NaN remains. The bytes of y for NaN are not specified. */
#pragma once

#include "agent/engine/graph/node.h"

struct pixel_conversion bytes_params(const struct node *node);
NODISCARD int infer_from_bytes(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_to_bytes(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
