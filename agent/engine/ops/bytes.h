/* bytes.h: pictures as they are in memory, in and out of a network of planes of floats: internal
 * operators, and the pass that puts them at a graph's ends, so that a device is given bytes, a
 * quarter of what floats take, and converts them itself.
 *
 *   FromBytes (x uint8 [n, h, w, 3]) -> y float32 [n, 3, h, w]: plane k is x * scale[k] + shift[k]
 *             of byte k, or, with `turned`, of byte 2 - k. Attributes scale, shift (3 numbers
 *             each), turned (0, 1)
 *   ToBytes   (x float32 [n, 3, h, w]) -> y uint8 [n, h, w, 3], bad int32 [n, h]: the other way:
 *             byte k of plane k (2 - k) is x * scale + shift, cut to an integer of 0 to 255. bad:
 * of each row, how many pixels from the first one on that has a value that is NaN; 0: none
 * has. So a caller that cuts columns off sees whether one is left. What y has of these is not
 * specified.
 */
#pragma once

#include "agent/engine/graph.h"

struct bytes bytes_params(const struct node *node);
NODISCARD int infer_from_bytes(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_to_bytes(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
