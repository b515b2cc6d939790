// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/yuv.h"
#include "tests/test.h"

#include <libswscale/swscale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A frame of any size with room for its planes. */
static struct yuv_planes new_frame(int width, int height, bool is_444) {
    int pairs = is_444 ? width : (width + 1) / 2, lines = is_444 ? height : (height + 1) / 2;
    struct yuv_planes yuv = {
        .width = width, .height = height, .is_444 = is_444, .strides = {width, pairs, pairs}};
    for (int i = 0; i < 3; i++) {
        yuv.planes[i] = x_calloc((size_t)yuv.strides[i] * (size_t)(i ? lines : height), 1);
    }
    return yuv;
}

static void free_frame(struct yuv_planes *yuv) {
    for (int i = 0; i < 3; i++) {
        free(yuv->planes[i]);
    }
}

/* A pixel by the definition, in double: chroma is interpolated between its samples. */
static void pixel_by_definition(const struct yuv_planes *yuv, const struct yuv_matrix *matrix,
                                int x, int y, double rgb[3]) {
    double c[2];
    int pairs = yuv->is_444 ? yuv->width : (yuv->width + 1) / 2;
    int lines = yuv->is_444 ? yuv->height : (yuv->height + 1) / 2;
    for (int i = 0; i < 2; i++) {
        double at_x = yuv->is_444 ? x : x / 2.0, at_y = yuv->is_444 ? y : (y - 0.5) / 2;
        int x0 = (int)floor(at_x), y0 = (int)floor(at_y);
        double sum = 0;
        for (int dy = 0; dy < 2; dy++) {
            for (int dx = 0; dx < 2; dx++) {
                double weight = (dx ? at_x - x0 : 1 - at_x + x0) * (dy ? at_y - y0 : 1 - at_y + y0);
                int px = MIN(x0 + dx, pairs - 1), py = MIN(MAX(y0 + dy, 0), lines - 1);
                sum += weight * yuv->planes[1 + i][py * yuv->strides[1 + i] + px];
            }
        }
        c[i] = (sum - 128) / (matrix->is_full ? 255 : 224);
    }
    double luma = yuv->planes[0][y * yuv->strides[0] + x];
    luma = matrix->is_full ? luma / 255 : (luma - 16) / 219;
    double kr = matrix->kr, kb = matrix->kb, kg = 1 - kr - kb;
    rgb[0] = 255 * (luma + 2 * (1 - kr) * c[1]);
    rgb[2] = 255 * (luma + 2 * (1 - kb) * c[0]);
    rgb[1] = 255 * (luma - 2 * kb * (1 - kb) / kg * c[0] - 2 * kr * (1 - kr) / kg * c[1]);
}

static const struct yuv_matrix matrices[] = {
    {0.2126, 0.0722, false}, {0.299, 0.114, false}, {0.299, 0.114, true}, {0.2627, 0.0593, false}};

static void check_pixels(struct yuv_planes *yuv, const struct yuv_matrix *matrix) {
    for (int i = 0; i < 3; i++) {
        int lines = i && !yuv->is_444 ? (yuv->height + 1) / 2 : yuv->height;
        for (int at = 0; at < yuv->strides[i] * lines; at++) {
            yuv->planes[i][at] = (uint8_t)rand();
        }
    }
    /* the exact size: the sanitizer finds reads past the end */
    uint8_t *rgb = x_malloc(3 * (size_t)yuv->width * (size_t)yuv->height);
    yuv_to_rgb(yuv, matrix, rgb);
    double worst = 0;
    for (int y = 0; y < yuv->height; y++) {
        for (int x = 0; x < yuv->width; x++) {
            double wanted[3];
            pixel_by_definition(yuv, matrix, x, y, wanted);
            for (int c = 0; c < 3; c++) {
                double value = MIN(MAX(wanted[c], 0.0), 255.0);
                worst = MAX(worst, fabs(value - rgb[3 * (y * yuv->width + x) + c]));
            }
        }
    }
    CHECK(worst < 0.52);
    free(rgb);
}

static void test_every_pixel_is_as_defined(void) {
    static const int sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 5}, {64, 6}, {257, 7}, {128, 2}};
    srand(7);
    for (size_t m = 0; m < ARRAY_LEN(matrices); m++) {
        for (size_t s = 0; s < 2 * ARRAY_LEN(sizes); s++) {
            struct yuv_planes yuv = new_frame(sizes[s / 2][0], sizes[s / 2][1], s % 2);
            check_pixels(&yuv, &matrices[m]);
            free_frame(&yuv);
        }
    }
}

static void test_smooth_pictures_come_back(void) {
    enum { WIDTH = 320, HEIGHT = 64 };
    uint8_t *rgb = x_malloc(3 * WIDTH * HEIGHT), *back = x_malloc(3 * WIDTH * HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            uint8_t *pixel = rgb + 3 * (y * WIDTH + x);
            pixel[0] = (uint8_t)(x * 255 / WIDTH);
            pixel[1] = (uint8_t)(y * 255 / HEIGHT);
            pixel[2] = (uint8_t)(255 - x * 128 / WIDTH);
        }
    }
    for (size_t m = 0; m < ARRAY_LEN(matrices); m++) {
        struct yuv_planes yuv = new_frame(WIDTH, HEIGHT, false);
        yuv_from_rgb(rgb, &matrices[m], &yuv);
        yuv_to_rgb(&yuv, &matrices[m], back);
        int worst = 0;
        for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) {
            worst = MAX(worst, abs(rgb[i] - back[i]));
        }
        CHECK(worst <= 4); /* green changes by 4 a line, and a chroma sample covers two lines */
        free_frame(&yuv);
    }
    free(rgb);
    free(back);
}

/* The library's own conversion, where both mean the same: luma, and chroma of a flat picture. */
static void test_bytes_agree_with_libswscale(void) {
    enum { SIDE = 64 };
    uint8_t rgb[3 * SIDE * SIDE];
    struct SwsContext *scaler =
        sws_getContext(SIDE, SIDE, AV_PIX_FMT_RGB24, SIDE, SIDE, AV_PIX_FMT_YUV420P,
                       SWS_ACCURATE_RND, NULL, NULL, NULL);
    const int *weights = sws_getCoefficients(SWS_CS_ITU709);
    sws_setColorspaceDetails(scaler, weights, 1, weights, 0, 0, 1 << 16, 1 << 16);
    struct yuv_planes ours = new_frame(SIDE, SIDE, false), theirs = new_frame(SIDE, SIDE, false);
    srand(9);
    for (int round = 0; round < 50; round++) {
        uint8_t color[3] = {(uint8_t)rand(), (uint8_t)rand(), (uint8_t)rand()};
        for (int i = 0; i < 3 * SIDE * SIDE; i++) {
            rgb[i] = color[i % 3];
        }
        yuv_from_rgb(rgb, &matrices[0], &ours);
        const uint8_t *from[4] = {rgb};
        int strides[4] = {3 * SIDE};
        CHECK_INT(sws_scale(scaler, from, strides, 0, SIDE, theirs.planes, theirs.strides), SIDE);
        for (int i = 0; i < 3; i++) {
            CHECK(abs(ours.planes[i][100] - theirs.planes[i][100]) <= 1);
            CHECK_INT(ours.planes[i][0], ours.planes[i][100]);
        }
    }
    sws_freeContext(scaler);
    free_frame(&ours);
    free_frame(&theirs);
}

static void test_pairs_become_planes(void) {
    uint8_t pairs[2 * 37], u[38], v[38];
    for (int i = 0; i < 37; i++) {
        pairs[2 * i] = (uint8_t)(3 * i);
        pairs[2 * i + 1] = (uint8_t)(255 - i);
    }
    u[37] = v[37] = 77; /* past the end */
    yuv_split(pairs, 37, u, v);
    for (int i = 0; i < 37; i++) {
        CHECK_INT(u[i], 3 * i);
        CHECK_INT(v[i], 255 - i);
    }
    CHECK_INT(u[37], 77);
    CHECK_INT(v[37], 77);
}

int main(void) {
    TEST(test_pairs_become_planes);
    TEST(test_every_pixel_is_as_defined);
    TEST(test_smooth_pictures_come_back);
    TEST(test_bytes_agree_with_libswscale);
    return TEST_END();
}
