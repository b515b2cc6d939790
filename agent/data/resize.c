// SPDX-License-Identifier: Apache-2.0
#include "agent/data/resize.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_BITS = 14 }; /* 255 << 14 leaves room for the sum in 32 bits */

/* For every place of the new side: which old places it is mixed from. */
struct mix {
    int taps;         /* room for weights of one place */
    int *starts;      /* [size] first old place */
    int *counts;      /* [size] how many follow it */
    int16_t *weights; /* [size, taps], each place's sum to 1 << WEIGHT_BITS */
};

static void mix_release(struct mix *mix) {
    free(mix->starts);
    free(mix->counts);
    free(mix->weights);
}

/* Rounds the weights so that they sum to one exactly: a flat picture stays as it is. */
static void round_weights(const double *exact, int count, double sum, int16_t *weights) {
    int left = 1 << WEIGHT_BITS, largest = 0;
    for (int i = 0; i < count; i++) {
        weights[i] = (int16_t)lround(exact[i] / sum * (1 << WEIGHT_BITS));
        left -= weights[i];
        largest = weights[i] > weights[largest] ? i : largest;
    }
    weights[largest] = (int16_t)(weights[largest] + left);
}

static void mix_init(struct mix *mix, int from, int to) {
    double scale = (double)from / to, reach = scale > 1 ? scale : 1;
    mix->taps = (int)ceil(reach) * 2 + 1;
    mix->starts = x_calloc((size_t)to, sizeof *mix->starts);
    mix->counts = x_calloc((size_t)to, sizeof *mix->counts);
    mix->weights = x_calloc((size_t)to * (size_t)mix->taps, sizeof *mix->weights);
    double *exact = x_calloc((size_t)mix->taps, sizeof *exact);
    for (int place = 0; place < to; place++) {
        double center = (place + 0.5) * scale, sum = 0;
        int start = MAX((int)floor(center - reach + 0.5), 0);
        int end = MIN((int)floor(center + reach + 0.5), from);
        int count = MIN(end - start, mix->taps);
        for (int i = 0; i < count; i++) {
            exact[i] = fmax(0, 1 - fabs(start + i + 0.5 - center) / reach);
            sum += exact[i];
        }
        round_weights(exact, count, sum, mix->weights + (ptrdiff_t)place * mix->taps);
        mix->starts[place] = start;
        mix->counts[place] = count;
    }
    free(exact);
}

static uint8_t round_sum(int32_t sum) {
    return (uint8_t)((sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS);
}

/* [old_width, 3] -> [width, 3] */
static void resize_row(const struct mix *mix, const uint8_t *from, uint8_t *to, int width) {
    for (int x = 0; x < width; x++) {
        const uint8_t *pixel = from + 3 * (ptrdiff_t)mix->starts[x];
        const int16_t *weights = mix->weights + (ptrdiff_t)x * mix->taps;
        int32_t r = 0, g = 0, b = 0;
        for (int i = 0; i < mix->counts[x]; i++, pixel += 3) {
            r += weights[i] * pixel[0];
            g += weights[i] * pixel[1];
            b += weights[i] * pixel[2];
        }
        *to++ = round_sum(r);
        *to++ = round_sum(g);
        *to++ = round_sum(b);
    }
}

/* Mixes whole rows into one: sums is a row of room. */
static void mix_rows(const struct mix *mix, const struct picture *from, int row, int32_t *sums,
                     uint8_t *to) {
    size_t stride = 3 * (size_t)from->width;
    memset(sums, 0, stride * sizeof *sums);
    for (int i = 0; i < mix->counts[row]; i++) {
        const uint8_t *source = from->pixels + (size_t)(mix->starts[row] + i) * stride;
        int32_t weight = mix->weights[(ptrdiff_t)row * mix->taps + i];
        for (size_t x = 0; x < stride; x++) {
            sums[x] += weight * source[x];
        }
    }
    for (size_t x = 0; x < stride; x++) {
        to[x] = round_sum(sums[x]);
    }
}

void picture_resize(const struct picture *picture, int width, int height,
                    struct picture *ret_picture) {
    assert(width > 0 && height > 0);
    AUTO(mix_release) struct mix across = {0}, down = {0};
    mix_init(&across, picture->width, width);
    mix_init(&down, picture->height, height);
    AUTO(picture_release) struct picture narrow;
    picture_init(&narrow, width, picture->height);
    size_t from_stride = 3 * (size_t)picture->width, stride = 3 * (size_t)width;
    for (int y = 0; y < picture->height; y++) {
        resize_row(&across, picture->pixels + (size_t)y * from_stride,
                   narrow.pixels + (size_t)y * stride, width);
    }
    picture_init(ret_picture, width, height);
    int32_t *sums = x_calloc(stride, sizeof *sums);
    for (int y = 0; y < height; y++) {
        mix_rows(&down, &narrow, y, sums, ret_picture->pixels + (size_t)y * stride);
    }
    free(sums);
}
