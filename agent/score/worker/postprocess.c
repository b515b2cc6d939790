// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/postprocess.h"

#include "agent/data/image/pixels.h"
#include "agent/engine/session.h"
#include "agent/store/local_file.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

static int read_labels(const char *spec_path, struct postprocess *postprocess, struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    size_t size = 0;
    if (local_file_open(spec_path, &file, err) < 0 ||
        file_read(file.path, POSTPROCESS_LABEL_BYTES_MAX, &postprocess->label_text, &size, err) <
            0) {
        return error_context(err, "spec." FIELD "labels");
    }
    digest_sha256(postprocess->label_text, size, postprocess->label_digest);
    size_t lines = 0;
    for (const char *at = postprocess->label_text; *at; at++) {
        lines += *at == '\n';
    }
    if (lines >= POSTPROCESS_LABELS_MAX) {
        return error_set(err, ERROR_INVALID, "spec." FIELD "labels: %s has more than %d lines",
                         spec_path, POSTPROCESS_LABELS_MAX);
    }
    postprocess->labels = x_calloc(lines + 1, sizeof *postprocess->labels);
    char *rest = postprocess->label_text;
    while (rest && *rest) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = 0;
        postprocess->labels[postprocess->label_count++] = line;
    }
    return 0;
}

static const char *const types[] = {
    [POSTPROCESS_IMAGE] = "Image",
    [POSTPROCESS_CLASSES] = "Classes",
    [POSTPROCESS_VALUES] = "Values",
};
_Static_assert(ARRAY_LEN(types) == POSTPROCESS_VALUES + 1, "a type has no name");

static int find_type(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (strcmp(types[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *postprocess_type_name(const struct postprocess *postprocess) {
    return types[postprocess->type];
}

int postprocess_read(const json_t *spec, struct postprocess *ret_postprocess, struct error *err) {
    const char *type = tree_text(spec, FIELD "type", "");
    const char *range_name = tree_text(spec, FIELD "range", "");
    const char *labels = tree_text(spec, FIELD "labels", NULL);
    int64_t top = tree_integer(spec, FIELD "top", 0);
    int range = preprocess_range_find(range_name), kind = find_type(type);
    struct postprocess postprocess = {
        .is_bgr = strcmp(tree_text(spec, "scorer.onnx.preprocess.color", ""), "BGR") == 0,
        .top = (int)MIN(MAX(top, 1), POSTPROCESS_LABELS_MAX),
    };
    if (kind < 0) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "type is '%.40s', expected Image, Classes or Values", type);
    }
    if (range < 0 || range == RANGE_IMAGENET) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "range is '%.40s', expected Byte, Unit or Signed",
                         range_name);
    }
    postprocess.type = (enum postprocess_type)kind;
    postprocess.range = (enum preprocess_range)range;
    if (postprocess.type == POSTPROCESS_CLASSES && labels &&
        read_labels(labels, &postprocess, err) < 0) {
        postprocess_release(&postprocess);
        return -1;
    }
    *ret_postprocess = postprocess;
    return 0;
}

void postprocess_name(struct postprocess *postprocess, const struct session *session,
                      size_t output) {
    if (postprocess->type == POSTPROCESS_CLASSES && !postprocess->labels) {
        postprocess->labels = session_classes(session, output, &postprocess->label_count);
    }
}

void postprocess_release(struct postprocess *postprocess) {
    if (!postprocess->label_text) {
        session_classes_free(postprocess->labels, postprocess->label_count);
        postprocess->labels = NULL;
    }
    free(TAKE(postprocess->label_text));
    free(TAKE(postprocess->labels));
    postprocess->label_count = 0;
}

bool postprocess_fits(const struct postprocess *postprocess, const struct tensor *output,
                      int64_t items) {
    const struct shape *shape = &output->shape;
    int rank_min = postprocess->type == POSTPROCESS_VALUES ? 1 : 2;
    bool fits =
        output->type == TENSOR_FLOAT32 && shape->rank >= rank_min && shape->dims[0] == items;
    if (postprocess->type == POSTPROCESS_IMAGE) {
        return fits && shape->rank == 4 && shape->dims[1] == 3 && shape->dims[2] >= 1 &&
               shape->dims[3] >= 1 && shape->dims[2] <= MEDIA_SIDE_MAX &&
               shape->dims[3] <= MEDIA_SIDE_MAX;
    }
    fits = fits && (shape->rank == 1 || shape->dims[1] >= 1);
    for (int i = 2; i < shape->rank; i++) {
        fits = fits && shape->dims[i] == 1;
    }
    return fits;
}

int postprocess_check(const struct postprocess *postprocess, const struct tensor *output,
                      int64_t items, struct error *err) {
    char text[128];
    shape_format(&output->shape, text);
    return postprocess_fits(postprocess, output, items)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.path: the network's output is %s %s for %lld items, "
                           "postprocess type %s needs float32 %s",
                           tensor_type_name(output->type), text, (long long)items,
                           postprocess_type_name(postprocess),
                           postprocess->type == POSTPROCESS_IMAGE ? "[n, 3, h, w]" : "[n, c]");
}

/* How a value becomes a byte: value * scale + shift. Adding 0.5 rounds, since the conversion to
 * integer truncates. */
static void byte_scale(enum preprocess_range range, float *ret_scale, float *ret_shift) {
    *ret_scale = range == RANGE_UNIT ? 255.0f : range == RANGE_SIGNED ? 127.5f : 1.0f;
    *ret_shift = (range == RANGE_SIGNED ? 127.5f : 0.0f) + 0.5f;
}

/* The size without padding, scaled in proportion. */
static void init_cut(struct picture *picture, int64_t height, int64_t width,
                     const struct preprocess_size *size) {
    int64_t cut_height =
        MAX((height * size->height + size->padded_height / 2) / size->padded_height, 1);
    int64_t cut_width = MAX((width * size->width + size->padded_width / 2) / size->padded_width, 1);
    picture_init(picture, (int)cut_width, (int)cut_height);
}

static int refuse_numbers(struct error *err) {
    return error_set(err, ERROR_FAILED, "the network's output has values that are not numbers");
}

struct pixel_conversion postprocess_to_bytes(const struct postprocess *postprocess) {
    struct pixel_conversion bytes = {.is_bgr = postprocess->is_bgr};
    for (int plane = 0; plane < 3; plane++) {
        byte_scale(postprocess->range, &bytes.scale[plane], &bytes.shift[plane]);
    }
    return bytes;
}

int postprocess_bytes(const struct tensor *output, const struct tensor *bad, int64_t index,
                      const struct preprocess_size *size, struct picture *ret_picture,
                      struct error *err) {
    int64_t height = output->shape.dims[1], width = output->shape.dims[2];
    const uint8_t *bytes = (const uint8_t *)output->data + index * 3 * height * width;
    const int32_t *left = (const int32_t *)bad->data + index * height;
    struct picture picture;
    init_cut(&picture, height, width, size);
    size_t row_bytes = 3 * (size_t)picture.width;
    for (int y = 0; y < picture.height; y++) {
        if (left[y] > width - picture.width) { /* the first bad value is inside the picture */
            picture_release(&picture);
            return refuse_numbers(err);
        }
        memcpy(picture.pixels + (size_t)y * row_bytes, bytes + y * 3 * width, row_bytes);
    }
    *ret_picture = picture;
    return 0;
}

int postprocess_picture(const struct postprocess *postprocess, const struct tensor *output,
                        int64_t index, const struct preprocess_size *size,
                        struct picture *ret_picture, struct error *err) {
    int64_t height = output->shape.dims[2], width = output->shape.dims[3];
    const float *planes = (const float *)output->data + index * 3 * height * width;
    float scale, shift;
    byte_scale(postprocess->range, &scale, &shift);
    struct picture picture;
    init_cut(&picture, height, width, size);
    int64_t cut_height = picture.height, cut_width = picture.width;
    int64_t plane = height * width;
    bool numbers = true;
    for (int64_t y = 0; y < cut_height; y++) {
        const float *row = planes + y * width;
        const float *rows[3] = {row, row + plane, row + 2 * plane};
        if (postprocess->is_bgr) {
            rows[0] = row + 2 * plane;
            rows[2] = row;
        }
        numbers &=
            pixels_from_planes(rows, cut_width, scale, shift, picture.pixels + y * 3 * cut_width);
    }
    if (!numbers) {
        picture_release(&picture);
        return refuse_numbers(err);
    }
    *ret_picture = picture;
    return 0;
}

struct score {
    int64_t index;
    float value;
};

static bool is_better(struct score a, struct score b) {
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}

static int by_score(const void *a, const void *b) {
    const struct score *left = a, *right = b;
    return is_better(*left, *right) ? -1 : is_better(*right, *left);
}

/* JSON has no spelling for what is not a finite number. */
static json_t *make_number(float value) {
    return isfinite(value) ? json_real((double)value) : json_null();
}

static json_t *list_values(const float *values, int64_t count) {
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        json_array_append_new(list, make_number(values[i]));
    }
    return list;
}

static json_t *list_classes(const struct postprocess *postprocess, const float *values,
                            int64_t count) {
    struct score *scores = x_calloc((size_t)count, sizeof *scores);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = (struct score){i, isnan(values[i]) ? -INFINITY : values[i]};
    }
    qsort(scores, (size_t)count, sizeof *scores, by_score);
    json_t *classes = json_array();
    for (int64_t i = 0; i < MIN(count, postprocess->top); i++) {
        json_t *class = json_object();
        json_object_set_new(class, "index", json_integer(scores[i].index));
        if ((size_t)scores[i].index < postprocess->label_count) {
            json_object_set_new(class, "label", json_string(postprocess->labels[scores[i].index]));
        }
        json_object_set_new(class, "score", make_number(scores[i].value));
        json_array_append_new(classes, class);
    }
    free(scores);
    return classes;
}

json_t *postprocess_record(const struct postprocess *postprocess, const struct tensor *output,
                           int64_t index, const char *name) {
    int64_t count = output->shape.rank == 1 ? 1 : output->shape.dims[1];
    const float *values = (const float *)output->data + index * count;
    bool has_classes =
        postprocess->type == POSTPROCESS_CLASSES && (count > 1 || postprocess->label_count > 0);
    return json_pack("{s:s,s:o}", "file", name, has_classes ? "classes" : "values",
                     has_classes ? list_classes(postprocess, values, count)
                                 : list_values(values, count));
}
