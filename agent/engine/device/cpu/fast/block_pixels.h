/* block_pixels.h: reads and writes some pixels of one block of channels (vector.h), also of tensors
 * that are row-major. */
#pragma once

#include "agent/engine/device/cpu/fast/conv.h"
#include "agent/engine/tensor.h"

/* `count` pixels, from `first` on, of a block of an activation. */
struct block_pixels {
    int n, block;
    size_t first, count;
};
/* The address of the pixels: in the tensor, or in `room` (to which they are copied) if the tensor
 * is not blocked. */
const float *block_pixels_read(const struct vector_ops *ops, const struct conv_operand *from,
                               const struct shape *shape, const struct block_pixels *part,
                               float *room);
/* The address where the pixels are to be written: in the tensor, or `room` if the tensor is not
 * blocked; then block_pixels_write copies them to the tensor. */
float *block_pixels_room(const struct vector_ops *ops, const struct conv_operand *to,
                         const struct shape *shape, const struct block_pixels *part, float *room);
void block_pixels_write(const struct vector_ops *ops, const struct conv_operand *to,
                        const struct shape *shape, const struct block_pixels *part,
                        const float *from);
