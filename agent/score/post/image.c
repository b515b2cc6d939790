// SPDX-License-Identifier: Apache-2.0
/* Image: the output [n, 3, h, w] or [n, h, w, 3] is a picture; with one channel a grey one. */
#include "agent/data/image/pixels.h"
#include "agent/score/post/post_kind.h"

#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

struct post_state {
    struct pixel_conversion to_bytes; /* the same for all channels */
};

/* How a value becomes a byte: value * scale + shift. Adding 0.5 rounds, since the conversion to
 * integer truncates. */
static const struct {
    const char *name;
    float scale, shift;
} ranges[] = {{"Byte", 1, 0.5f}, {"Unit", 255, 0.5f}, {"Signed", 127.5f, 128}};

static int image_open(const json_t *spec, struct post_state **ret_state, struct error *err) {
    const char *name = tree_text(spec, FIELD "range", "");
    size_t range = 0;
    while (range < ARRAY_LEN(ranges) && strcmp(ranges[range].name, name) != 0) {
        range++;
    }
    if (range == ARRAY_LEN(ranges)) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "range is '%.40s', expected Byte, Unit or Signed", name);
    }
    struct post_state *state = x_calloc(1, sizeof *state);
    state->to_bytes.is_bgr =
        strcmp(tree_text(spec, "scorer.onnx.preprocess.color", ""), "BGR") == 0;
    for (int plane = 0; plane < 3; plane++) {
        state->to_bytes.scale[plane] = ranges[range].scale;
        state->to_bytes.shift[plane] = ranges[range].shift;
    }
    *ret_state = state;
    return 0;
}

static void image_free(struct post_state *state) {
    free(state);
}

static const struct pixel_conversion *image_pixels(const struct post_state *state) {
    return &state->to_bytes;
}

/* Of [n, c, h, w], or of [n, h, w, c]; with 1 or 3 both ways the channels are first. */
struct extent {
    int64_t channels, height, width;
    bool is_last; /* of the channels */
};

static struct extent extent_of(const struct tensor *output) {
    const int64_t *dims = output->shape.dims;
    return dims[1] == 3 || (dims[1] == 1 && dims[3] != 3)
               ? (struct extent){dims[1], dims[2], dims[3], false}
               : (struct extent){dims[3], dims[1], dims[2], true};
}

static bool image_fits(const struct post_state *state UNUSED, const struct tensor *output,
                       int64_t items) {
    if (output->type != TENSOR_FLOAT32 || output->shape.rank != 4 ||
        output->shape.dims[0] != items) {
        return false;
    }
    struct extent extent = extent_of(output);
    return (extent.channels == 3 || extent.channels == 1) && extent.height >= 1 &&
           extent.width >= 1 && extent.height <= MEDIA_SIDE_MAX && extent.width <= MEDIA_SIDE_MAX;
}

/* The size without padding, scaled in proportion if the network's output has another size than its
 * input. */
static void init_cut(struct picture *picture, int64_t height, int64_t width,
                     const struct post_place *place) {
    int64_t cut_height =
        MAX((height * place->height + place->input_height / 2) / place->input_height, 1);
    int64_t cut_width =
        MAX((width * place->width + place->input_width / 2) / place->input_width, 1);
    picture_init(picture, (int)cut_width, (int)cut_height);
}

static int refuse_numbers(struct picture *picture, struct error *err) {
    picture_release(picture);
    return error_set(err, ERROR_FAILED, "the network's output has NaN or infinite values");
}

static int take_bytes(const struct post_outputs *outputs, int64_t index,
                      const struct post_place *place, struct picture *picture, struct error *err) {
    const struct tensor *output = outputs->tensors[0], *bad = outputs->tensors[1];
    int64_t height = output->shape.dims[1], width = output->shape.dims[2];
    const uint8_t *bytes = (const uint8_t *)output->data + index * 3 * height * width;
    const int32_t *left = (const int32_t *)bad->data + index * height;
    init_cut(picture, height, width, place);
    size_t row_bytes = 3 * (size_t)picture->width;
    for (int y = 0; y < picture->height; y++) {
        if (left[y] > width - picture->width) { /* the first bad value is inside the picture */
            return refuse_numbers(picture, err);
        }
        memcpy(picture->pixels + (size_t)y * row_bytes, bytes + y * 3 * width, row_bytes);
    }
    return 0;
}

/* Where row y of each of the three colours is. `parted` holds those of [n, h, w, c]. */
static void find_rows(const struct extent *extent, const float *values, int64_t y, float *parted,
                      const float *ret_rows[static 3]) {
    int64_t width = extent->width, channels = extent->channels;
    for (int64_t c = 0; c < channels && extent->is_last; c++) {
        for (int64_t x = 0; x < width; x++) {
            parted[c * width + x] = values[(y * width + x) * channels + c];
        }
    }
    int64_t plane = extent->is_last ? width : extent->height * width;
    for (int64_t colour = 0; colour < 3; colour++) {
        ret_rows[colour] =
            (extent->is_last ? parted : values + y * width) + (channels == 3 ? colour * plane : 0);
    }
}

static int take_floats(const struct post_state *state, const struct tensor *output, int64_t index,
                       const struct post_place *place, struct picture *picture, struct error *err) {
    struct extent extent = extent_of(output);
    int64_t area = extent.height * extent.width;
    const float *values = (const float *)output->data + index * extent.channels * area;
    init_cut(picture, extent.height, extent.width, place);
    float *parted = extent.is_last ? x_calloc(3 * (size_t)extent.width, sizeof *parted) : NULL;
    bool numbers = true;
    for (int64_t y = 0; y < picture->height; y++) {
        const float *rows[3];
        find_rows(&extent, values, y, parted, rows);
        if (state->to_bytes.is_bgr) {
            const float *first = rows[0];
            rows[0] = rows[2];
            rows[2] = first;
        }
        numbers &=
            pixels_from_planes(rows, picture->width, state->to_bytes.scale[0],
                               state->to_bytes.shift[0], picture->pixels + y * 3 * picture->width);
    }
    free(parted);
    return numbers ? 0 : refuse_numbers(picture, err);
}

static int image_result(const struct post_state *state, const struct post_outputs *outputs,
                        int64_t index, const struct post_item *item, struct post_result *ret_result,
                        struct error *err) {
    struct picture *picture = &ret_result->picture;
    return outputs->has_pixels
               ? take_bytes(outputs, index, &item->place, picture, err)
               : take_floats(state, outputs->tensors[0], index, &item->place, picture, err);
}

const struct post_kind post_image = {
    .name = "Image",
    .needs = "float32 [n, c, h, w] or [n, h, w, c] of three channels, or one",
    .wants_pictures = true,
    .open = image_open,
    .free = image_free,
    .pixels = image_pixels,
    .fits = image_fits,
    .result = image_result,
};
