// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/pixels.h"

#include <string.h>

enum { BLOCK = 64 /* pixels per block, which fits the first-level cache */ };

/* Clang's clones (14, which builds our fuzzers) cannot be called by other files; and the choice
 * among clones runs before TSan is initialised and crashes in it. */
#if defined __clang__ || defined __SANITIZE_THREAD__
#define FOR_EACH_PROCESSOR
#else
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "avx2")))
#endif

FOR_EACH_PROCESSOR
void pixels_to_planes(const uint8_t *row, int64_t width, const float scale[3], const float shift[3],
                      float *const planes[3]) {
    for (int channel = 0; channel < 3; channel++) {
        float *restrict to = planes[channel];
        float times = scale[channel], plus = shift[channel];
        for (int64_t x = 0; x < width; x++) {
            to[x] = row[3 * x + channel] * times + plus;
        }
    }
}

static inline uint32_t byte_of(float value, int *bad) {
    *bad |= value != value;
    value = value > 0 ? value : 0; /* NaN becomes 0 */
    return (uint32_t)(int)(value < 255 ? value : 255);
}

/* Vector code makes four bytes per pixel; each store then overwrites the fourth byte of the pixel
 * before. */
FOR_EACH_PROCESSOR
bool pixels_from_planes(const float *const planes[3], int64_t width, float scale, float shift,
                        uint8_t *row) {
    int bad = 0;
    for (int64_t from = 0; from < width; from += BLOCK) {
        int64_t count = MIN(width - from, (int64_t)BLOCK);
        const float *x = planes[0] + from, *y = planes[1] + from, *z = planes[2] + from;
        uint32_t pixels[BLOCK];
        for (int64_t i = 0; i < count; i++) {
            pixels[i] = byte_of(x[i] * scale + shift, &bad) |
                        byte_of(y[i] * scale + shift, &bad) << 8 |
                        byte_of(z[i] * scale + shift, &bad) << 16;
        }
        uint8_t *to = row + 3 * from;
        for (int64_t i = 0; i < count - 1; i++) {
            memcpy(to + 3 * i, &pixels[i], 4);
        }
        memcpy(to + 3 * (count - 1), &pixels[count - 1], 3);
    }
    return !bad;
}
