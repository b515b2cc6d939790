// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/scale.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* How one side is resampled: every target pixel is a weighted sum of `taps` source pixels. */
struct filter {
    int taps;
    int *first;     /* [target] */
    float *weights; /* [target, taps] */
};

static struct filter filter_make(int from, int to) {
    double ratio = (double)from / to, reach = MAX(ratio, 1.0);
    struct filter filter = {.taps = MIN((int)ceil(reach) * 2 + 1, from)};
    filter.first = x_calloc((size_t)to, sizeof *filter.first);
    filter.weights = x_calloc((size_t)to * (size_t)filter.taps, sizeof *filter.weights);
    for (int i = 0; i < to; i++) {
        double centre = (i + 0.5) * ratio - 0.5, sum = 0;
        int first = (int)floor(centre - reach) + 1;
        filter.first[i] = MAX(MIN(first, from - filter.taps), 0);
        float *weights = filter.weights + (size_t)i * (size_t)filter.taps;
        for (int at = first; at < centre + reach; at++) {
            double weight = MAX(1 - fabs(at - centre) / reach, 0.0);
            int inside = MAX(MIN(at, from - 1), 0) - filter.first[i];
            assert(inside >= 0 && inside < filter.taps);
            weights[inside] += (float)weight;
            sum += weight;
        }
        for (int tap = 0; tap < filter.taps; tap++) {
            weights[tap] /= (float)sum;
        }
    }
    return filter;
}

static void filter_release(struct filter *filter) {
    free(filter->first);
    free(filter->weights);
}

/* Scales a row of 3 * from bytes to 3 * to floats. */
static void scale_row(const struct filter *filter, const uint8_t *row, int to, float *result) {
    for (int x = 0; x < to; x++) {
        const float *weights = filter->weights + (size_t)x * (size_t)filter->taps;
        const uint8_t *from = row + 3 * (size_t)filter->first[x];
        float red = 0, green = 0, blue = 0;
        for (int tap = 0; tap < filter->taps; tap++, from += 3) {
            red += weights[tap] * from[0];
            green += weights[tap] * from[1];
            blue += weights[tap] * from[2];
        }
        result[3 * x] = red;
        result[3 * x + 1] = green;
        result[3 * x + 2] = blue;
    }
}

void scale_picture(const struct picture *picture, int width, int height,
                   struct picture *ret_picture) {
    assert(width >= 1 && height >= 1 && width <= MEDIA_SIDE_MAX && height <= MEDIA_SIDE_MAX);
    struct filter across = filter_make(picture->width, width);
    struct filter down = filter_make(picture->height, height);
    size_t stride = 3 * (size_t)width;
    /* A ring of scaled source rows: only those that one target row needs. */
    float *rows = x_calloc((size_t)down.taps * stride, sizeof *rows);
    float *sums = x_calloc(stride, sizeof *sums);
    struct picture result;
    picture_init(&result, width, height);
    int ready = 0; /* source rows before this one were scaled */
    for (int y = 0; y < height; y++) {
        int end = down.first[y] + down.taps;
        for (ready = MAX(ready, down.first[y]); ready < end; ready++) {
            scale_row(&across, picture->pixels + (size_t)ready * 3 * (size_t)picture->width, width,
                      rows + (size_t)(ready % down.taps) * stride);
        }
        const float *weights = down.weights + (size_t)y * (size_t)down.taps;
        for (size_t x = 0; x < stride; x++) {
            sums[x] = 0.5f; /* rounds, since the conversion to integer truncates */
        }
        for (int tap = 0; tap < down.taps; tap++) {
            const float *row = rows + (size_t)((down.first[y] + tap) % down.taps) * stride;
            for (size_t x = 0; x < stride; x++) {
                sums[x] += weights[tap] * row[x];
            }
        }
        uint8_t *target = result.pixels + (size_t)y * stride;
        for (size_t x = 0; x < stride; x++) {
            target[x] = (uint8_t)MIN(MAX(sums[x], 0.0f), 255.0f);
        }
    }
    free(rows);
    free(sums);
    filter_release(&across);
    filter_release(&down);
    *ret_picture = result;
}
