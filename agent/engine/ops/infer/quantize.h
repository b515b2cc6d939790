/* quantize.h: QuantizeLinear and DequantizeLinear; the other quantized operators are expanded to
 * these and to convolutions and products of int32 (expand_quantized.c). */
#pragma once

#include "agent/engine/graph/node.h"

/* One scale for all elements, or one per index of an axis. size: the number of scales; inner:
 * adjacent elements with the same scale. */
struct quantize {
    int64_t inner, size;
};

NODISCARD int quantize_params(const struct node *node, const struct shape *x,
                              const struct shape *scale, struct quantize *ret_quantize,
                              struct error *err);
NODISCARD int infer_quantize(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_dequantize(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
