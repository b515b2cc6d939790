// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/picture_rows.h"

#include "agent/data/image/pixels.h"
#include "agent/data/image/scale.h"
#include "lib/number/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A resized picture in its place. */
struct rows {
    const struct preprocess *preprocess;
    const struct preprocess_size *size;
    const struct picture *picture; /* resized */
    struct picture scaled;         /* owns it, if it had another size */
    uint8_t *row;                  /* one row of the input; owned */
};

static void open_rows(struct rows *rows, const struct preprocess *preprocess,
                      const struct picture *picture, const struct preprocess_size *size) {
    *rows = (struct rows){.preprocess = preprocess, .size = size, .picture = picture};
    if (picture->width != size->width || picture->height != size->height) {
        scale_picture(picture, size->width, size->height, &rows->scaled);
        rows->picture = &rows->scaled;
    }
    rows->row = x_calloc((size_t)size->padded_width, 3);
}

static void close_rows(struct rows *rows) {
    picture_release(&rows->scaled);
    free(rows->row);
}

/* Pixels [from, to) of a row get the margin's value, or repeat the pixel at `edge`. */
static void fill_margin(const struct rows *rows, int from, int to, int edge) {
    uint8_t *row = rows->row;
    for (int x = from; x < to; x++) {
        if (rows->preprocess->fit == FIT_PAD) {
            memset(row + 3 * (size_t)x, rows->preprocess->pad_value, 3);
        } else {
            memcpy(row + 3 * (size_t)x, row + 3 * (size_t)edge, 3);
        }
    }
}

/* Row y of the input, RGB; borrowed until the next call. */
static const uint8_t *make_row(const struct rows *rows, int y) {
    const struct preprocess_size *size = rows->size;
    const struct picture *picture = rows->picture;
    int from_y = y - size->top, from_x = MAX(-size->left, 0), to_x = MAX(size->left, 0);
    int count = MIN(picture->width - from_x, size->padded_width - to_x);
    if (rows->preprocess->fit == FIT_PAD && (from_y < 0 || from_y >= picture->height)) {
        fill_margin(rows, 0, size->padded_width, 0);
        return rows->row;
    }
    from_y = MAX(MIN(from_y, picture->height - 1), 0);
    const uint8_t *from =
        picture->pixels + 3 * ((size_t)from_y * (size_t)picture->width + (size_t)from_x);
    if (count == size->padded_width) {
        return from;
    }
    memcpy(rows->row + 3 * (size_t)to_x, from, 3 * (size_t)count);
    fill_margin(rows, 0, to_x, to_x);
    fill_margin(rows, to_x + count, size->padded_width, to_x + count - 1);
    return rows->row;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Three planes of a row become one, if the network takes grey. */
static void mix_grey(float *const planes[3], int width) {
    for (int x = 0; x < width; x++) {
        planes[0][x] = 0.299f * planes[0][x] + 0.587f * planes[1][x] + 0.114f * planes[2][x];
    }
}

static void store_value(enum tensor_type type, void *tensor, size_t at, float value) {
    switch (type) {
    case TENSOR_FLOAT16:
        ((uint16_t *)tensor)[at] = half_from_double((double)value);
        break;
    case TENSOR_UINT8:
        ((uint8_t *)tensor)[at] = (uint8_t)lrintf(MAX(MIN(value, 255.0f), 0.0f));
        break;
    default:
        ((float *)tensor)[at] = value;
    }
}

/* planes: red, green, blue (or grey) of row y. */
static void store_row(const struct rows *rows, const struct picture_form *form, int y,
                      float *const planes[3], void *tensor) {
    size_t width = (size_t)rows->size->padded_width, channels = (size_t)form->channels;
    size_t plane = width * (size_t)rows->size->padded_height, row = (size_t)y * width;
    for (size_t channel = 0; channel < channels; channel++) {
        bool is_turned = rows->preprocess->is_bgr && channels == 3;
        const float *values = planes[is_turned ? 2 - channel : channel];
        for (size_t x = 0; x < width; x++) {
            size_t at = form->is_nhwc ? (row + x) * channels + channel : channel * plane + row + x;
            store_value(form->type, tensor, at, values[x]);
        }
    }
}

static bool is_planes(const struct picture_form *form) {
    return form->type == TENSOR_FLOAT32 && !form->is_nhwc && form->channels == 3;
}

void picture_rows_fill(const struct preprocess *preprocess, const struct picture *picture,
                       const struct preprocess_size *size, const struct picture_form *form,
                       void *tensor) {
    struct rows rows;
    float scale[3], shift[3];
    size_t width = (size_t)size->padded_width, plane = width * (size_t)size->padded_height;
    float *own = is_planes(form) ? NULL : x_calloc(3 * width, sizeof *own);
    open_rows(&rows, preprocess, picture, size);
    for (int channel = 0; channel < 3; channel++) {
        preprocess_scale(preprocess, channel, &scale[channel], &shift[channel]);
    }
    for (int y = 0; y < size->padded_height; y++) {
        float *to = own ? own : (float *)tensor + (size_t)y * width;
        size_t stride = own ? width : plane;
        float *planes[3] = {to, to + stride, to + 2 * stride};
        if (!own && preprocess->is_bgr) {
            planes[0] = to + 2 * stride;
            planes[2] = to;
        }
        pixels_to_planes(make_row(&rows, y), size->padded_width, scale, shift, planes);
        if (form->channels == 1) {
            mix_grey(planes, size->padded_width);
        }
        if (own) {
            store_row(&rows, form, y, planes, tensor);
        }
    }
    close_rows(&rows);
    free(own);
}

void picture_rows_fill_bytes(const struct preprocess *preprocess, const struct picture *picture,
                             const struct preprocess_size *size, uint8_t *bytes) {
    struct rows rows;
    size_t stride = 3 * (size_t)size->padded_width;
    open_rows(&rows, preprocess, picture, size);
    for (int y = 0; y < size->padded_height; y++) {
        memcpy(bytes + (size_t)y * stride, make_row(&rows, y), stride);
    }
    close_rows(&rows);
}
