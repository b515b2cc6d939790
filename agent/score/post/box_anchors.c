// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/box_anchors.h"

#include "agent/score/post/anchors.h"
#include "agent/score/post/box.h"

enum { SIDES = 4, FACE_COLUMNS = 16, YUNET_LEVELS = 3 };

static bool is_float(const struct tensor *output, int rank) {
    return output->type == TENSOR_FLOAT32 && output->shape.rank == rank;
}

/* Two maps [n, c, h, w] of one height and width, of which this one may be boxes. */
static bool are_maps(const struct tensor *boxes, const struct tensor *scores) {
    const int64_t *a = boxes->shape.dims, *b = scores->shape.dims;
    return is_float(boxes, 4) && is_float(scores, 4) && a[1] % SIDES == 0 && a[1] > b[1] &&
           a[2] == b[2] && a[3] == b[3] && a[2] > 1;
}

/* The number of candidates of an output [n, k, 4] or [k, 4]; 0: it is another one. */
static int64_t candidates(const struct tensor *output) {
    int rank = output->shape.rank;
    bool fits =
        (is_float(output, 3) || is_float(output, 2)) && output->shape.dims[rank - 1] == SIDES;
    return fits ? output->shape.dims[rank - 2] : 0;
}

static bool are_levels(const struct tensor *one, const struct tensor *other) {
    return candidates(one) > 0 && candidates(other) > 0 && candidates(one) != candidates(other);
}

/* [n, k, 16], a box and points, beside [n, k, 1]. */
static bool has_points(const struct tensor *boxes, const struct tensor *scores) {
    const int64_t *a = boxes->shape.dims, *b = scores->shape.dims;
    return is_float(boxes, 3) && is_float(scores, 3) && a[1] == b[1] && b[2] == 1 && a[2] > SIDES &&
           a[2] % 2 == 0;
}

bool box_anchors_are_needed(const struct post_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        for (size_t k = 0; k < outputs->count; k++) {
            const struct tensor *one = outputs->tensors[i], *other = outputs->tensors[k];
            if (i != k &&
                (are_maps(one, other) || are_levels(one, other) || has_points(one, other))) {
                return true;
            }
        }
    }
    return false;
}

bool box_anchors_are_blaze_face(const struct post_outputs *outputs) {
    int64_t boxes = 0, scores = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        if (is_float(output, 3) && output->shape.dims[0] == outputs->items) {
            boxes += output->shape.dims[2] == FACE_COLUMNS ? output->shape.dims[1] : 0;
            scores += output->shape.dims[2] == 1 ? output->shape.dims[1] : 0;
        }
    }
    return boxes == scores && boxes == anchors_count(&anchors_of_blaze_face, 1, 1);
}

bool box_anchors_are_yunet(const struct post_outputs *outputs) {
    static const enum box_name names[] = {BOX_NAME_BOXES, BOX_NAME_CLASSES, BOX_NAME_OBJECTNESS};
    int64_t rows[ARRAY_LEN(names)] = {0};
    size_t counts[ARRAY_LEN(names)] = {0};
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        bool is_level = is_float(output, 3) && output->shape.dims[0] == outputs->items;
        for (size_t what = 0; is_level && what < ARRAY_LEN(names); what++) {
            int64_t columns = names[what] == BOX_NAME_BOXES        ? SIDES
                              : names[what] == BOX_NAME_OBJECTNESS ? 1
                                                                   : output->shape.dims[2];
            if (output->shape.dims[2] == columns && box_name_says(outputs->names[i], names[what])) {
                rows[what] += output->shape.dims[1];
                counts[what]++;
            }
        }
    }
    return counts[0] == YUNET_LEVELS && counts[1] == YUNET_LEVELS && counts[2] == YUNET_LEVELS &&
           rows[0] == rows[1] && rows[0] == rows[2];
}
