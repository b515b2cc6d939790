// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/block_pixels.h"

static size_t pixels_of(const struct shape *shape) {
    return (size_t)shape_pixels(shape);
}

static size_t blocked_at(const struct vector_ops *ops, const struct shape *shape,
                         const struct block_pixels *part) {
    size_t b = (size_t)ops->block, blocks = ((size_t)shape->dims[1] + b - 1) / b;
    size_t index = (size_t)part->n * blocks + (size_t)part->block;
    return (index * pixels_of(shape) + part->first) * b;
}

static size_t planar_at(const struct vector_ops *ops, const struct shape *shape,
                        const struct block_pixels *part) {
    size_t channel = (size_t)part->block * (size_t)ops->block;
    size_t plane = (size_t)part->n * (size_t)shape->dims[1] + channel;
    return plane * pixels_of(shape) + part->first;
}

static int lanes_of(const struct vector_ops *ops, const struct shape *shape,
                    const struct block_pixels *part) {
    return MIN(ops->block, (int)shape->dims[1] - part->block * ops->block);
}

const float *block_pixels_read(const struct vector_ops *ops, const struct conv_operand *from,
                               const struct shape *shape, const struct block_pixels *part,
                               float *room) {
    if (from->blocked) {
        return from->data + blocked_at(ops, shape, part);
    }
    ops->from_planar(room, from->data + planar_at(ops, shape, part), pixels_of(shape),
                     lanes_of(ops, shape, part), part->count);
    return room;
}

float *block_pixels_room(const struct vector_ops *ops, const struct conv_operand *to,
                         const struct shape *shape, const struct block_pixels *part, float *room) {
    return to->blocked ? to->data + blocked_at(ops, shape, part) : room;
}

void block_pixels_write(const struct vector_ops *ops, const struct conv_operand *to,
                        const struct shape *shape, const struct block_pixels *part,
                        const float *from) {
    const struct pending none = {0};
    if (!to->blocked) {
        ops->to_planar(to->data + planar_at(ops, shape, part), pixels_of(shape),
                       lanes_of(ops, shape, part), from, &none, part->count);
    }
}
