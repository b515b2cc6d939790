// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/steps.h"

#include <stdlib.h>
#include <string.h>

struct operand operand_of(const struct vector_ops *ops, const struct tensor *tensor, int layout) {
    struct operand operand = {.data = tensor->data, .blocked = layout != 0};
    const int64_t *dims = tensor->shape.dims;
    if (layout & LAYOUT_AFFINE) {
        operand.affine = operand.data +
                         blocked_count(ops, (int)dims[0], (int)dims[1], (int)dims[2], (int)dims[3]);
        operand.relu = layout & LAYOUT_RELU;
    }
    return operand;
}

size_t layout_bytes(const struct vector_ops *ops, const struct shape *shape, int layout) {
    int n = (int)shape->dims[0], c = (int)shape->dims[1];
    size_t count = blocked_count(ops, n, c, (int)shape->dims[2], (int)shape->dims[3]);
    return (count + (layout & LAYOUT_AFFINE ? affine_count(ops, n, c) : 0)) * sizeof(float);
}

struct pending pending_of(const struct vector_ops *ops, const struct operand *operand,
                          const struct shape *shape, int n, int block) {
    size_t b = (size_t)ops->block, channels = affine_count(ops, 1, (int)shape->dims[1]) / 2;
    struct pending pending = {.relu = operand->relu};
    if (operand->affine) {
        pending.scale = operand->affine + (size_t)n * 2 * channels + (size_t)block * b;
        pending.shift = pending.scale + channels;
    }
    return pending;
}

static size_t pixels_of(const struct shape *shape) {
    return (size_t)(shape->dims[2] * shape->dims[3]);
}

static size_t blocked_at(const struct vector_ops *ops, const struct shape *shape,
                         const struct stretch *stretch) {
    size_t b = (size_t)ops->block, blocks = ((size_t)shape->dims[1] + b - 1) / b;
    size_t index = (size_t)stretch->n * blocks + (size_t)stretch->block;
    return (index * pixels_of(shape) + stretch->first) * b;
}

static size_t planar_at(const struct vector_ops *ops, const struct shape *shape,
                        const struct stretch *stretch) {
    size_t channel = (size_t)stretch->block * (size_t)ops->block;
    size_t plane = (size_t)stretch->n * (size_t)shape->dims[1] + channel;
    return plane * pixels_of(shape) + stretch->first;
}

static int lanes_of(const struct vector_ops *ops, const struct shape *shape,
                    const struct stretch *stretch) {
    return MIN(ops->block, (int)shape->dims[1] - stretch->block * ops->block);
}

const float *stretch_read(const struct vector_ops *ops, const struct operand *from,
                          const struct shape *shape, const struct stretch *stretch, float *room) {
    if (from->blocked) {
        return from->data + blocked_at(ops, shape, stretch);
    }
    ops->from_planar(room, from->data + planar_at(ops, shape, stretch), pixels_of(shape),
                     lanes_of(ops, shape, stretch), stretch->count);
    return room;
}

float *stretch_room(const struct vector_ops *ops, const struct operand *to,
                    const struct shape *shape, const struct stretch *stretch, float *room) {
    return to->blocked ? to->data + blocked_at(ops, shape, stretch) : room;
}

void stretch_put(const struct vector_ops *ops, const struct operand *to, const struct shape *shape,
                 const struct stretch *stretch, const float *from) {
    const struct pending none = {0};
    if (!to->blocked) {
        ops->to_planar(to->data + planar_at(ops, shape, stretch), pixels_of(shape),
                       lanes_of(ops, shape, stretch), from, &none, stretch->count);
    }
}

struct entry {
    struct weights_key key;
    struct conv_weights *weights;
};

struct weights_cache {
    struct entry *entries;
    size_t count;
};

struct weights_cache *weights_cache_new(void) {
    return x_calloc(1, sizeof(struct weights_cache));
}

void weights_cache_free(struct weights_cache *cache) {
    if (!cache) {
        return;
    }
    for (size_t i = 0; i < cache->count; i++) {
        conv_weights_free(cache->entries[i].weights);
    }
    free(cache->entries);
    free(cache);
}

struct conv_weights *weights_cache_get(const struct weights_cache *cache,
                                       const struct weights_key *key) {
    for (size_t i = 0; i < cache->count; i++) {
        const struct weights_key *other = &cache->entries[i].key;
        if (other->node == key->node && other->weights == key->weights &&
            other->bias == key->bias && other->norm == key->norm &&
            other->algorithm == key->algorithm && other->planar == key->planar) {
            return cache->entries[i].weights;
        }
    }
    return NULL;
}

void weights_cache_put(struct weights_cache *cache, const struct weights_key *key,
                       struct conv_weights *weights) {
    cache->entries = x_realloc_array(cache->entries, cache->count + 1, sizeof *cache->entries);
    cache->entries[cache->count++] = (struct entry){*key, weights};
}
