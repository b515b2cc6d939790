// SPDX-License-Identifier: Apache-2.0
/* The loops of vector_bfloat.h for any processor: what tests run where it has no instructions for
 * bfloat16, and what the others are tested against. */
#include "agent/engine/device/cpu/vector/vector_bfloat.h"

#include <string.h>

uint16_t vector_bfloat_round(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    if ((bits & 0x7F800000) == 0) {
        return (uint16_t)(bits >> 16 & 0x8000);
    }
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float vector_bfloat_value(uint16_t bits) {
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

static void gather(uint16_t *tiles, int steps, const struct bfloat_rows *rows) {
    for (int i = 0; i < rows->count; i++) {
        uint16_t *to = tiles + (size_t)(i / BFLOAT_ROWS) * (size_t)steps * BFLOAT_TILE +
                       (size_t)(i % BFLOAT_ROWS) * BFLOAT_STEP;
        const float *in = rows->rows ? rows->in + rows->rows[i] : rows->in + (size_t)i * rows->row;
        int k = 0;
        for (int r = 0; r < rows->run_count; r++) {
            for (int at = 0; at < rows->run_length; at++, k++) {
                to[k / BFLOAT_STEP * BFLOAT_TILE + k % BFLOAT_STEP] =
                    vector_bfloat_round(in[rows->runs[r] + at]);
            }
        }
        for (; k < steps * BFLOAT_STEP; k++) {
            to[k / BFLOAT_STEP * BFLOAT_TILE + k % BFLOAT_STEP] = 0;
        }
    }
}

static void pack(uint16_t *to, const struct bfloat_matrix *from, int block) {
    size_t blocks = from->columns > block ? 2 : 1, steps = (size_t)vector_bfloat_steps(from->k);
    memset(to, 0, steps * blocks * BFLOAT_TILE * sizeof *to);
    for (int j = 0; j < from->columns; j++) {
        const float *column = from->data + j * from->column;
        uint16_t *lane = to + j / block * BFLOAT_TILE + 2 * (j % block);
        for (int i = 0; i < from->k; i++) {
            size_t tile = (size_t)(i / BFLOAT_STEP) * blocks * BFLOAT_TILE;
            lane[tile + (size_t)(i % BFLOAT_STEP / 2 * BFLOAT_STEP + i % 2)] =
                vector_bfloat_round(column[i * from->row]);
        }
    }
}

// The sum of an output, pair by pair, as the instructions add.
static float sum_of(const uint16_t *a, const uint16_t *weights, int steps, size_t stride) {
    float sum = 0;
    for (int s = 0; s < steps; s++) {
        for (int k = 0; k < BFLOAT_STEP; k += 2) {
            const uint16_t *pair = weights + k / 2 * BFLOAT_STEP;
            sum += vector_bfloat_value(a[k]) * vector_bfloat_value(pair[0]);
            sum += vector_bfloat_value(a[k + 1]) * vector_bfloat_value(pair[1]);
        }
        a += BFLOAT_TILE;
        weights += stride;
    }
    return sum;
}

static void multiply(const struct bfloat_job *job) {
    int blocks = job->columns > job->block ? 2 : 1;
    for (int i = 0; i < job->rows; i++) {
        const uint16_t *a = job->a + (size_t)(i / BFLOAT_ROWS * job->steps) * BFLOAT_TILE +
                            (size_t)(i % BFLOAT_ROWS) * BFLOAT_STEP;
        ptrdiff_t place = job->places ? job->places[i] : (ptrdiff_t)((size_t)i * job->row);
        for (int c = 0; c < job->columns; c++) {
            int block = c / job->block, lane = c % job->block;
            const uint16_t *w = job->weights + block * BFLOAT_TILE + 2 * lane;
            float y = sum_of(a, w, job->steps, (size_t)(blocks * BFLOAT_TILE));
            size_t at = (size_t)block * job->out_block + (size_t)lane;
            y += job->bias ? job->bias[c] : 0;
            y += job->add ? (job->add + place)[at] : 0;
            y = y < job->low ? job->low : y;
            (job->out + place)[at] = y > job->high ? job->high : y;
        }
    }
}

const struct bfloat_ops vector_bfloat_plain = {
    .name = "plain", .gather = gather, .pack = pack, .multiply = multiply};
