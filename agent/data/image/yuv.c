// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/yuv.h"

#include <math.h>
#include <stdlib.h>

/* Clang's clones (14, which builds our fuzzers) cannot be called by other files; and the choice
 * among clones runs before TSan is initialised and crashes in it. */
#if defined __clang__ || defined __SANITIZE_THREAD__
#define FOR_EACH_PROCESSOR
#else
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "avx2")))
#endif

enum {
    BITS = 14, /* fraction bits of a coefficient: 14 + 8 + sign and sums fit in 32 bits */
    HALF = 1 << (BITS - 1),
    BLOCK = 128, /* pixels per block */
};

static int32_t fixed(double value) {
    return (int32_t)lrint(value * (1 << BITS));
}

static inline uint8_t clip(int32_t value) {
    value = value > 0 ? value : 0;
    return (uint8_t)(value < 255 ? value : 255);
}

struct to_rgb {
    int32_t y, rv, gu, gv, bu, black;
};

/* One line's chroma for every pixel, times eight. 4:2:0: the line is between two lines of samples,
 * with weight 3 of 4 for the nearer one; every second pixel is between two samples. Writes pairs of
 * pixels. */
FOR_EACH_PROCESSOR
static void widen_half(const uint8_t *restrict near, const uint8_t *restrict far, int pairs,
                       int16_t *restrict wide) {
    for (int x = 0; x < pairs - 1; x++) {
        int here = 3 * near[x] + far[x] - 4 * 128;
        int next = 3 * near[x + 1] + far[x + 1] - 4 * 128;
        wide[2 * x] = (int16_t)(2 * here);
        wide[2 * x + 1] = (int16_t)(here + next);
    }
    int last = 3 * near[pairs - 1] + far[pairs - 1] - 4 * 128;
    wide[2 * pairs - 2] = wide[2 * pairs - 1] = (int16_t)(2 * last);
}

FOR_EACH_PROCESSOR
static void widen_full(const uint8_t *restrict chroma, int width, int16_t *restrict wide) {
    for (int x = 0; x < width; x++) {
        wide[x] = (int16_t)(8 * (chroma[x] - 128));
    }
}

FOR_EACH_PROCESSOR
static void row_to_rgb(const uint8_t *restrict y, const int16_t *restrict u,
                       const int16_t *restrict v, int width, const struct to_rgb *c,
                       uint8_t *restrict rgb) {
    for (int from = 0; from < width; from += BLOCK) {
        uint8_t bytes[3][BLOCK];
        int count = MIN(width - from, BLOCK);
        for (int x = 0; x < count; x++) {
            int32_t light = (y[from + x] - c->black) * c->y + HALF;
            int32_t cu = u[from + x], cv = v[from + x];
            bytes[0][x] = clip((light + ((c->rv * cv) >> 3)) >> BITS);
            bytes[1][x] = clip((light + ((c->gu * cu + c->gv * cv) >> 3)) >> BITS);
            bytes[2][x] = clip((light + ((c->bu * cu) >> 3)) >> BITS);
        }
        uint8_t *to = rgb + 3 * from;
        for (int x = 0; x < count; x++) {
            to[3 * x] = bytes[0][x];
            to[3 * x + 1] = bytes[1][x];
            to[3 * x + 2] = bytes[2][x];
        }
    }
}

/* Computes the chroma of line y from plane i. */
static void widen(const struct yuv_planes *yuv, int i, int y, int16_t *wide) {
    const uint8_t *plane = yuv->planes[i];
    int64_t stride = yuv->strides[i];
    if (yuv->is_444) {
        widen_full(plane + y * stride, yuv->width, wide);
        return;
    }
    int lines = (yuv->height + 1) / 2;
    int near = y / 2, far = MIN(MAX(near + (y % 2 ? 1 : -1), 0), lines - 1);
    widen_half(plane + near * stride, plane + far * stride, (yuv->width + 1) / 2, wide);
}

void yuv_to_rgb(const struct yuv_planes *yuv, const struct yuv_matrix *matrix, uint8_t *rgb) {
    double kr = matrix->kr, kb = matrix->kb, kg = 1 - kr - kb;
    double chroma = matrix->is_full ? 1 : 255.0 / 224;
    struct to_rgb c = {
        .y = fixed(matrix->is_full ? 1 : 255.0 / 219),
        .rv = fixed(2 * (1 - kr) * chroma),
        .gu = fixed(-2 * (1 - kb) * kb / kg * chroma),
        .gv = fixed(-2 * (1 - kr) * kr / kg * chroma),
        .bu = fixed(2 * (1 - kb) * chroma),
        .black = matrix->is_full ? 0 : 16,
    };
    size_t room = (size_t)yuv->width + 1;
    int16_t *rows = x_malloc(2 * room * sizeof *rows);
    for (int y = 0; y < yuv->height; y++) {
        widen(yuv, 1, y, rows);
        widen(yuv, 2, y, rows + room);
        row_to_rgb(yuv->planes[0] + (int64_t)y * yuv->strides[0], rows, rows + room, yuv->width, &c,
                   rgb + (int64_t)y * 3 * yuv->width);
    }
    free(rows);
}

FOR_EACH_PROCESSOR
void yuv_split(const uint8_t *restrict uv, int pairs, uint8_t *restrict u, uint8_t *restrict v) {
    for (int i = 0; i < pairs; i++) {
        u[i] = uv[2 * i];
        v[i] = uv[2 * i + 1];
    }
}

struct from_rgb {
    int32_t y[3], u[3], v[3];
    int32_t y_plus, uv_plus; /* the offset of black or grey, plus the rounding term */
};

/* Luma of one line; the line's red, green and blue are added to sums[3][width]. */
FOR_EACH_PROCESSOR
static void line_from_rgb(const uint8_t *restrict rgb, int width, const struct from_rgb *c,
                          uint8_t *restrict luma, int16_t *restrict sums) {
    int16_t *red = sums, *green = sums + width, *blue = sums + 2 * (int64_t)width;
    for (int x = 0; x < width; x++) {
        int32_t r = rgb[3 * x], g = rgb[3 * x + 1], b = rgb[3 * x + 2];
        luma[x] = (uint8_t)((c->y[0] * r + c->y[1] * g + c->y[2] * b + c->y_plus) >> BITS);
        red[x] = (int16_t)(red[x] + r);
        green[x] = (int16_t)(green[x] + g);
        blue[x] = (int16_t)(blue[x] + b);
    }
}

/* For every second pixel of a line of sums: weights 1, 2, 1 for left, centre and right; the result
 * is eight times the mean of two lines. */
FOR_EACH_PROCESSOR
static void narrow(const int16_t *restrict sums, int width, int16_t *restrict means) {
    means[0] = (int16_t)(3 * sums[0] + sums[1]);
    for (int x = 1; x < width / 2; x++) {
        means[x] = (int16_t)(sums[2 * x - 1] + 2 * sums[2 * x] + sums[2 * x + 1]);
    }
}

FOR_EACH_PROCESSOR
static void chroma_from_means(const int16_t *restrict means, int pairs, const int32_t by[3],
                              int32_t plus, uint8_t *restrict chroma) {
    const int16_t *red = means, *green = means + pairs, *blue = means + 2 * (int64_t)pairs;
    for (int x = 0; x < pairs; x++) {
        int32_t value = by[0] * red[x] + by[1] * green[x] + by[2] * blue[x];
        chroma[x] = clip(((value >> 3) + plus) >> BITS);
    }
}

void yuv_from_rgb(const uint8_t *rgb, const struct yuv_matrix *matrix,
                  const struct yuv_planes *yuv) {
    double kr = matrix->kr, kb = matrix->kb, kg = 1 - kr - kb;
    double light = matrix->is_full ? 1 : 219.0 / 255, chroma = matrix->is_full ? 1 : 224.0 / 255;
    double u = chroma / (2 * (1 - kb)), v = chroma / (2 * (1 - kr));
    struct from_rgb c = {
        .y = {fixed(kr * light), fixed(kg * light), fixed(kb * light)},
        .u = {fixed(-kr * u), fixed(-kg * u), fixed((1 - kb) * u)},
        .v = {fixed((1 - kr) * v), fixed(-kg * v), fixed(-kb * v)},
        .y_plus = ((matrix->is_full ? 0 : 16) << BITS) + HALF,
        .uv_plus = (128 << BITS) + HALF,
    };
    int width = yuv->width, pairs = width / 2;
    size_t line = 3 * (size_t)width;
    int16_t *sums = x_malloc((line + 3 * (size_t)pairs) * sizeof *sums), *means = sums + line;
    for (int y = 0; y < yuv->height; y += 2) {
        for (size_t x = 0; x < line; x++) {
            sums[x] = 0;
        }
        for (int i = 0; i < 2; i++) {
            line_from_rgb(rgb + (size_t)(y + i) * line, width, &c,
                          yuv->planes[0] + (int64_t)(y + i) * yuv->strides[0], sums);
        }
        for (int channel = 0; channel < 3; channel++) {
            narrow(sums + channel * (int64_t)width, width, means + channel * (int64_t)pairs);
        }
        int64_t at = y / 2;
        chroma_from_means(means, pairs, c.u, c.uv_plus, yuv->planes[1] + at * yuv->strides[1]);
        chroma_from_means(means, pairs, c.v, c.uv_plus, yuv->planes[2] + at * yuv->strides[2]);
    }
    free(sums);
}
