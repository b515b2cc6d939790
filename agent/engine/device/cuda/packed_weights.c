// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/packed_weights.h"

#include "agent/engine/device/cuda/gpu.h"

#include <stdlib.h>
#include <string.h>

struct packed {
    struct packed *next;
    struct packing pack; /* the key: addresses and layout */
    void *weights, *bias;
};

uint16_t packed_weights_number(const struct gpu *gpu, float value) {
    uint16_t bytes = 0;
    struct tensor tensor = {
        .type = gpu->type == KERNELS_BFLOAT16 ? TENSOR_BFLOAT16 : TENSOR_FLOAT16, .data = &bytes};
    tensor_put_number(&tensor, 0, (double)value);
    return bytes;
}

static bool is_same(const struct packing *a, const struct packing *b) {
    return a->weights == b->weights && a->bias == b->bias && a->scale_key == b->scale_key &&
           a->is_channels_last == b->is_channels_last && a->is_depthwise == b->is_depthwise &&
           a->is_turned == b->is_turned && a->m == b->m && a->c == b->c && a->taps == b->taps;
}

static float weight_at(const struct packing *pack, int64_t m, int64_t c, int64_t tap) {
    float weight =
        pack->weights[pack->is_turned ? c * pack->m + m : (m * pack->c + c) * pack->taps + tap];
    return pack->scale ? weight * pack->scale[m] : weight;
}

static float bias_at(const struct packing *pack, int64_t m) {
    float bias = pack->bias ? pack->bias[m] : 0;
    return pack->scale ? bias * pack->scale[m] + pack->shift[m] : bias;
}

/* The weights of output i and channel k. */
static void fill_taps(struct gpu *gpu, const struct packing *pack, int64_t i, int64_t k,
                      void *memory) {
    for (int64_t tap = 0; tap < pack->taps; tap++) {
        float weight = weight_at(pack, i, k, tap);
        if (pack->is_channels_last) {
            ((uint16_t *)memory)[(i * pack->taps + tap) * channels_last_pitch(pack->c) + k] =
                packed_weights_number(gpu, weight);
        } else if (pack->is_depthwise) {
            ((float *)memory)[tap * channels_last_pitch(pack->m) + i] = weight;
        } else {
            ((float *)memory)[(i * pack->c + k) * pack->taps + tap] = weight;
        }
    }
}

/* Rounded-up parts are zero. */
static void *fill_weights(struct gpu *gpu, const struct packing *pack, size_t *ret_size) {
    int64_t m =
        pack->is_channels_last || pack->is_depthwise ? channels_last_pitch(pack->m) : pack->m;
    int64_t c = pack->is_channels_last ? channels_last_pitch(pack->c) : pack->c;
    *ret_size = (size_t)(m * c * pack->taps) * (pack->is_channels_last ? 2 : sizeof(float));
    void *memory = x_calloc(MAX(*ret_size, 1), 1);
    for (int64_t i = 0; i < pack->m; i++) {
        for (int64_t k = 0; k < pack->c; k++) {
            fill_taps(gpu, pack, i, k, memory);
        }
    }
    return memory;
}

static void *fill_bias(struct gpu *gpu, const struct packing *pack, size_t *ret_size) {
    int64_t m =
        pack->is_channels_last || pack->is_depthwise ? channels_last_pitch(pack->m) : pack->m;
    *ret_size = (size_t)m * (sizeof(float) + sizeof(uint16_t));
    float *memory = x_calloc(MAX(*ret_size, 1), 1);
    uint16_t *narrow = (uint16_t *)(memory + m);
    for (int64_t i = 0; i < pack->m; i++) {
        memory[i] = bias_at(pack, i);
        narrow[i] = gpu->type == KERNELS_FLOAT32 ? 0 : packed_weights_number(gpu, memory[i]);
    }
    return memory;
}

static int upload(struct gpu *gpu, void *from, size_t size, void **ret_memory, struct error *err) {
    struct device *device = &gpu->base;
    int result = device->ops->alloc(device, size, ret_memory, err);
    if (result == 0) {
        result = device->ops->copy(device, COPY_TO_DEVICE, *ret_memory, from, size, err);
    }
    free(from);
    return result;
}

int packed_weights_get(struct gpu *gpu, const struct packing *pack, void **ret_weights,
                       void **ret_bias, struct error *err) {
    struct packed *packed = gpu->packed;
    while (packed && !is_same(&packed->pack, pack)) {
        packed = packed->next;
    }
    if (!packed) {
        size_t size, bias_size;
        void *weights = fill_weights(gpu, pack, &size), *bias = fill_bias(gpu, pack, &bias_size);
        packed = x_calloc(1, sizeof *packed);
        *packed = (struct packed){.next = gpu->packed, .pack = *pack};
        gpu->packed = packed;
        packed->pack.scale = packed->pack.shift = NULL; /* they belong to the caller */
        int result = upload(gpu, weights, size, &packed->weights, err);
        if (result < 0) {
            free(bias);
        }
        if (result < 0 || upload(gpu, bias, bias_size, &packed->bias, err) < 0) {
            gpu->packed = packed->next;
            gpu->base.ops->free(&gpu->base, packed->weights);
            gpu->base.ops->free(&gpu->base, packed->bias);
            free(packed);
            return -1;
        }
    }
    *ret_weights = packed->weights;
    *ret_bias = packed->bias;
    return 0;
}

void packed_weights_free(struct gpu *gpu) {
    while (gpu->packed) {
        struct packed *packed = gpu->packed;
        gpu->packed = packed->next;
        gpu->base.ops->free(&gpu->base, packed->weights);
        gpu->base.ops->free(&gpu->base, packed->bias);
        free(packed);
    }
}
