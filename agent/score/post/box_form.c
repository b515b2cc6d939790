// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/box_form.h"

#include "agent/score/post/box.h"
#include "agent/score/post/box_anchors.h"

#include <math.h>
#include <stdlib.h>

#define SCORE_SLACK 1e-3f /* of a sum that was rounded */

const struct box_form box_forms[] = {
    {"YOLOv5", "[n, k, 5 + classes]", BOX_ROWS, BOX_CXCYWH, BOX_PIXELS, CLASS_SCORES_RAW, BOX_NONE,
     0.45f, "range: Unit, color: RGB", NULL},
    {"YOLOX", "[n, k, 5 + classes], offsets to a grid", BOX_GRID, BOX_CXCYWH, BOX_PIXELS,
     CLASS_SCORES_RAW, BOX_NONE, 0.45f, "range: Byte, color: BGR", &anchors_of_grid},
    {"YOLOv8", "[n, 4 + classes, k]", BOX_COLUMNS, BOX_CXCYWH, BOX_PIXELS, CLASS_SCORES_RAW,
     BOX_NONE, 0.45f, "range: Unit, color: RGB", NULL},
    {"YOLOv10", "[n, k, 6]", BOX_FINAL, BOX_LTRB, BOX_PIXELS, CLASS_SCORES_RAW, BOX_NONE, 1,
     "range: Unit, color: RGB", NULL},
    {"SSD", "[n, k, 4] and [n, k, classes]", BOX_PAIR, BOX_LTRB, BOX_UNIT, CLASS_SCORES_RAW,
     BOX_FIRST, 0.45f, "range: Unit, color: RGB", NULL},
    {"DETR", "[n, k, 4] and [n, k, classes]", BOX_PAIR, BOX_CXCYWH, BOX_UNIT, CLASS_SCORES_SOFTMAX,
     BOX_LAST, 1, "range: ImageNet, color: RGB", NULL},
    {"RTDETR", "[n, k, 4] and [n, k, classes]", BOX_PAIR, BOX_CXCYWH, BOX_UNIT,
     CLASS_SCORES_SIGMOID, BOX_NONE, 1, "range: Unit, color: RGB", NULL},
    {"TFDetection", "boxes [n, k, 4], scores [n, k] and classes [n, k], known by their names",
     BOX_LISTS, BOX_TLBR, BOX_UNIT, CLASS_SCORES_RAW, BOX_NONE, 1, "range: Byte, color: RGB", NULL},
    {"TorchVision", "boxes [n, k, 4], scores [n, k] and whole numbers of classes [n, k]", BOX_LISTS,
     BOX_LTRB, BOX_PIXELS, CLASS_SCORES_RAW, BOX_NONE, 1, "range: Unit, color: RGB", NULL},
    {"BlazeFace", "[n, 896, 16] and [n, 896, 1], or both in two levels", BOX_ANCHORED, BOX_CXCYWH,
     BOX_PIXELS, CLASS_SCORES_SIGMOID, BOX_NONE, 0.3f, "range: Signed, color: RGB",
     &anchors_of_blaze_face},
    {"YuNet",
     "cls [n, k, 1], obj [n, k, 1] and bbox [n, k, 4] of three levels, known by their names",
     BOX_ANCHORED, BOX_CXCYWH, BOX_PIXELS, CLASS_SCORES_RAW, BOX_NONE, 0.3f,
     "range: Byte, color: BGR", &anchors_of_yunet},
};
const size_t box_form_count = ARRAY_LEN(box_forms);

/* ---- the outputs ---------------------------------------------------------------------------- */

/* Whether it has that many axes, with the items first; -1: any size. */
static bool is_shaped(const struct tensor *output, int64_t items, int rank, int64_t last) {
    const struct shape *shape = &output->shape;
    return output->type == TENSOR_FLOAT32 && shape->rank == rank && shape->dims[0] == items &&
           shape->dims[1] >= 1 && (last < 0 || shape->dims[rank - 1] == last);
}

static bool has_objectness(enum box_layout layout) {
    return layout == BOX_ROWS || layout == BOX_GRID;
}

static bool is_lone(enum box_layout layout, const struct tensor *output, int64_t items) {
    const int64_t *dims = output->shape.dims;
    if (!is_shaped(output, items, 3, -1)) {
        return false;
    }
    return layout == BOX_FINAL      ? dims[2] == 6
           : has_objectness(layout) ? dims[2] >= 6 && dims[1] > dims[2]
                                    : dims[1] >= 5 && dims[2] > dims[1];
}

/* The only output that fits; NULL: none or several. */
static const struct tensor *find_lone(enum box_layout layout, const struct post_outputs *outputs) {
    const struct tensor *found = NULL;
    for (size_t i = 0; i < outputs->count; i++) {
        if (is_lone(layout, outputs->tensors[i], outputs->items)) {
            if (found) {
                return NULL;
            }
            found = outputs->tensors[i];
        }
    }
    return found;
}

/* The boxes [n, k, 4] of a pair: by their name, or because others have the names of scores. */
static const struct tensor *find_boxes(const struct post_outputs *outputs) {
    const struct tensor *only = NULL, *named = NULL, *other = NULL;
    size_t count = 0, named_count = 0, other_count = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        if (!is_shaped(output, outputs->items, 3, 4)) {
            continue;
        }
        count++;
        only = output;
        if (box_name_says(outputs->names[i], BOX_NAME_BOXES)) {
            named_count++;
            named = output;
        }
        if (!box_name_says(outputs->names[i], BOX_NAME_SCORES)) {
            other_count++;
            other = output;
        }
    }
    return named_count == 1 ? named : count == 1 ? only : other_count == 1 ? other : NULL;
}

/* Boxes, and the scores of as many candidates. */
static bool find_pair(const struct post_outputs *outputs, struct box_source *ret_source) {
    const struct tensor *boxes = find_boxes(outputs);
    const struct tensor *only = NULL, *named = NULL;
    size_t count = 0, named_count = 0;
    for (size_t i = 0; boxes && i < outputs->count; i++) {
        const struct tensor *other = outputs->tensors[i];
        if (other == boxes || !is_shaped(other, outputs->items, 3, -1) ||
            other->shape.dims[1] != boxes->shape.dims[1] || other->shape.dims[2] < 1) {
            continue;
        }
        count++;
        only = other;
        if (box_name_says(outputs->names[i], BOX_NAME_SCORES)) {
            named_count++;
            named = other;
        }
    }
    ret_source->boxes = boxes;
    ret_source->scores = named_count == 1 ? named : count == 1 ? only : NULL;
    ret_source->candidates = boxes ? boxes->shape.dims[1] : 0;
    return ret_source->scores != NULL;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* The outputs of one network, which have an axis for the items, or none of them has. */
struct lists {
    const struct post_outputs *outputs;
    int axis; /* of the candidates: 1, or 0 if there is none for the items */
};

static bool is_whole(const struct tensor *output) {
    return output->type == TENSOR_INT64 || output->type == TENSOR_INT32;
}

/* Whether it has one number (columns is 0) or that many for each candidate. A run may find none. */
static bool is_listed(const struct lists *lists, const struct tensor *output, int64_t columns) {
    const struct shape *shape = &output->shape;
    return shape->rank == lists->axis + 1 + (columns > 0) &&
           (lists->axis == 0 || shape->dims[0] == lists->outputs->items) &&
           (columns == 0 || shape->dims[lists->axis + 1] == columns);
}

static int64_t count_listed(const struct lists *lists, const struct tensor *output) {
    return output->shape.dims[lists->axis];
}

/* The output that is looked for. */
struct wish {
    enum box_name what;
    int64_t columns, candidates; /* candidates: -1: any number */
    bool is_whole, is_named;     /* is_named: the name must say it */
    const struct tensor *other;  /* which it is not; NULL: it may be any */
};

/* The only one whose name says it, or, unless it must, the only one of this shape. NULL: none, or
 * several. */
static const struct tensor *find_list(const struct lists *lists, const struct wish *wish) {
    const struct tensor *only = NULL, *named = NULL;
    size_t count = 0, named_count = 0;
    for (size_t i = 0; i < lists->outputs->count; i++) {
        const struct tensor *output = lists->outputs->tensors[i];
        bool fits = wish->is_whole ? is_whole(output) : output->type == TENSOR_FLOAT32;
        if (!fits || output == wish->other || !is_listed(lists, output, wish->columns) ||
            (wish->candidates >= 0 && count_listed(lists, output) != wish->candidates)) {
            continue;
        }
        count++;
        only = output;
        if (box_name_says(lists->outputs->names[i], wish->what)) {
            named_count++;
            named = output;
        }
    }
    return named_count == 1 ? named : count == 1 && !wish->is_named ? only : NULL;
}

/* Whole numbers are classes, and the floats beside them scores. A name says more: whole numbers may
 * be places of candidates, or marks of those that count. */
static bool find_lists_of(const struct lists *lists, struct box_source *ret_source) {
    const struct wish wished = {.what = BOX_NAME_SCORES, .candidates = -1};
    const struct tensor *scores = find_list(lists, &wished), *classes = NULL;
    int64_t count = scores ? count_listed(lists, scores) : -1;
    /* As many candidates: raw boxes of all anchors may be beside those that count. */
    const struct wish place = {.what = BOX_NAME_BOXES, .columns = 4, .candidates = count};
    const struct wish kinds[] = {{BOX_NAME_CLASSES, 0, count, true, true, scores},
                                 {BOX_NAME_CLASSES, 0, count, false, true, scores},
                                 {BOX_NAME_CLASSES, 0, count, true, false, scores}};
    const struct tensor *boxes = find_list(lists, &place);
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !classes; i++) {
        classes = find_list(lists, &kinds[i]);
    }
    ret_source->boxes = boxes;
    ret_source->scores = scores;
    ret_source->classes = classes;
    ret_source->candidates = count;
    return boxes && scores && classes;
}

static bool find_lists(const struct post_outputs *outputs, struct box_source *ret_source) {
    return find_lists_of(&(struct lists){outputs, 1}, ret_source) ||
           (outputs->items == 1 && find_lists_of(&(struct lists){outputs, 0}, ret_source));
}

bool box_form_find(const struct box_form *form, const struct post_outputs *outputs,
                   struct box_source *ret_source) {
    *ret_source = (struct box_source){.form = *form};
    if (form->layout == BOX_PAIR) {
        return find_pair(outputs, ret_source);
    }
    if (form->layout == BOX_LISTS) {
        return find_lists(outputs, ret_source);
    }
    if (form->layout == BOX_ANCHORED) {
        return form->anchors == &anchors_of_yunet ? box_anchors_are_yunet(outputs)
                                                  : box_anchors_are_blaze_face(outputs);
    }
    const struct tensor *boxes = find_lone(form->layout, outputs);
    ret_source->boxes = boxes;
    ret_source->candidates = boxes ? boxes->shape.dims[form->layout == BOX_COLUMNS ? 2 : 1] : 0;
    return boxes != NULL;
}

/* Whether there is one candidate in each cell of grids of 8, 16 and 32 pixels, which are 16 + 4 + 1
 * in each 32x32. YOLOv5 has three times as many, and so may an input of 3:2. */
static bool is_one_grid(int64_t candidates) {
    enum { ONE = 21, THREE = 63 };
    return candidates % ONE == 0 && candidates % THREE != 0;
}

bool box_form_guess(const struct box_form *form, const struct post_outputs *outputs,
                    struct box_source *ret_source) {
    struct box_source lists;
    if (!box_form_find(form, outputs, ret_source)) {
        return false;
    }
    switch (form->layout) {
    case BOX_ROWS: /* a box with points is as wide as one with scores of classes */
        return !box_anchors_are_needed(outputs);
    case BOX_GRID:
        return is_one_grid(ret_source->boxes->shape.dims[1]);
    case BOX_PAIR: /* lists may have the scores of all classes beside them */
        return !find_lists(outputs, &lists);
    case BOX_LISTS: /* TensorFlow's classes are floats, PyTorch's whole numbers */
        return is_whole(ret_source->classes) == (form->units == BOX_PIXELS);
    case BOX_COLUMNS:
    case BOX_FINAL:
    case BOX_ANCHORED:
    default:
        return true;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The numbers of one candidate, `step` apart. */
struct row {
    const float *box, *scores;
    int64_t step, classes; /* classes: the number of scores */
    int64_t k, at;         /* its number among the item's; PAIR, LISTS: among all items' */
};

static struct box place(enum box_coordinates coordinates, const float *values, int64_t step) {
    float a = values[0], b = values[step], c = values[2 * step], d = values[3 * step];
    switch (coordinates) {
    case BOX_TLBR:
        return (struct box){.left = b, .top = a, .right = d, .bottom = c};
    case BOX_CXCYWH:
        return (struct box){
            .left = a - c / 2, .top = b - d / 2, .right = a + c / 2, .bottom = b + d / 2};
    case BOX_LTRB:
    default:
        return (struct box){.left = a, .top = b, .right = c, .bottom = d};
    }
}

/* Candidate k of the item; `scores` has room for its scores, in order. */
static struct row find_row(const struct box_source *source, int64_t index, int64_t k) {
    const int64_t *dims = source->boxes->shape.dims;
    if (source->form.layout == BOX_LISTS) {
        int64_t at = index * source->candidates + k;
        return (struct row){(const float *)source->boxes->data + 4 * at,
                            (const float *)source->scores->data + at,
                            1,
                            1,
                            k,
                            at};
    }
    const float *values = (const float *)source->boxes->data + index * dims[1] * dims[2];
    if (source->form.layout == BOX_COLUMNS) {
        return (struct row){values + k, values + 4 * dims[2] + k, dims[2], dims[1] - 4, k, 0};
    }
    const float *row = values + k * dims[2];
    if (has_objectness(source->form.layout)) {
        return (struct row){row, row + 5, 1, dims[2] - 5, k, 0};
    }
    if (source->form.layout == BOX_FINAL) {
        return (struct row){row, row + 4, 1, 1, k, 0};
    }
    int64_t classes = source->scores->shape.dims[2];
    const float *scores = (const float *)source->scores->data;
    int64_t at = index * dims[1] + k;
    return (struct row){row, scores + at * classes, 1, classes, k, at};
}

int64_t box_form_classes_of(const struct box_source *source, int64_t columns) {
    int64_t count = source->class_count > 0 ? MIN(source->class_count, columns) : columns;
    bool has_background = columns > 1 && source->form.background != BOX_NONE;
    return count - has_background;
}

int64_t box_form_classes(const struct box_source *source) {
    enum box_layout layout = source->form.layout;
    if (!source->boxes) {
        return 0; /* of anchors: known with the first item */
    }
    if (layout == BOX_FINAL || layout == BOX_LISTS) {
        return 0;
    }
    return box_form_classes_of(source, find_row(source, 0, 0).classes);
}

static int check_score(float score, int64_t k, struct error *err) {
    return score >= -SCORE_SLACK && score <= 1 + SCORE_SLACK
               ? 0
               : error_set(err, ERROR_FAILED,
                           "score %g of box %lld is not one of 0 to 1: another postprocess.form, "
                           "postprocess.scores: Sigmoid or Softmax, or postprocess.classes is "
                           "expected",
                           (double)score, (long long)k);
}

/* The best class, without the background. */
static int find_class(const struct box_source *source, const struct row *row, float *weighed,
                      struct box *box, struct error *err) {
    enum box_background none = row->classes > 1 ? source->form.background : BOX_NONE;
    int64_t count = source->class_count > 0 ? MIN(source->class_count, row->classes) : row->classes;
    int64_t from = none == BOX_FIRST, to = count - (none == BOX_LAST);
    for (int64_t c = 0; c < count; c++) {
        weighed[c] = row->scores[c * row->step];
    }
    class_scores_apply(source->form.scores, weighed, count);
    box->score = -1;
    for (int64_t c = from; c < to; c++) {
        if (check_score(weighed[c], row->k, err) < 0) {
            return -1;
        }
        if (weighed[c] > box->score) {
            box->score = weighed[c];
            box->class = c - from;
        }
    }
    return 0;
}

/* Score and class of a candidate. */
static int find_score(const struct box_source *source, const struct row *row, float *weighed,
                      struct box *box, struct error *err) {
    if (has_objectness(source->form.layout)) {
        float objectness = row->box[4];
        if (check_score(objectness, row->k, err) < 0) {
            return -1;
        }
        if (objectness < source->threshold) {
            box->score = -1;
            return 0;
        }
        int result = find_class(source, row, weighed, box, err);
        box->score *= objectness;
        return result;
    }
    if (source->form.layout == BOX_FINAL || source->form.layout == BOX_LISTS) {
        double class = source->form.layout == BOX_FINAL ? (double)row->box[5]
                                                        : tensor_number(source->classes, row->at);
        box->score = row->scores[0];
        box->class = class >= 0 && class < 1e6 ? (int64_t) class : 0;
        return check_score(box->score, row->k, err);
    }
    return find_class(source, row, weighed, box, err);
}

/* Corners in another order do not come from rounding: the form is wrong, or they are offsets to
 * anchors. */
static int check_order(const struct box_source *source, const struct box *box, int64_t k,
                       struct error *err) {
    float slack = source->form.units == BOX_UNIT ? SCORE_SLACK : 1;
    return box->right >= box->left - slack && box->bottom >= box->top - slack
               ? 0
               : error_set(err, ERROR_FAILED,
                           "box %lld ends before it begins: other postprocess.coordinates are "
                           "expected, or postprocess.anchors, if the network gives offsets to "
                           "them",
                           (long long)k);
}

static bool is_finite(const struct box *box) {
    return isfinite(box->left) && isfinite(box->top) && isfinite(box->right) &&
           isfinite(box->bottom);
}

int box_form_read(const struct box_source *source, int64_t index, struct box **ret_boxes,
                  size_t *ret_count, struct error *err) {
    int64_t candidates = source->candidates, classes = 1;
    size_t count = 0;
    int result = 0;
    struct box *boxes = x_calloc((size_t)candidates, sizeof *boxes);
    classes = candidates > 0 ? find_row(source, index, 0).classes : 1;
    float *weighed = x_calloc((size_t)classes, sizeof *weighed);
    for (int64_t k = 0; k < candidates && result == 0; k++) {
        struct row row = find_row(source, index, k);
        struct box box = source->anchors
                             ? anchor_box(source->anchors, &source->anchor_list[k], row.box)
                             : place(source->form.coordinates, row.box, row.step);
        result = find_score(source, &row, weighed, &box, err);
        if (result < 0 || box.score < source->threshold) {
            continue;
        }
        if (!is_finite(&box)) {
            result = error_set(err, ERROR_FAILED, "box %lld has values that are not finite numbers",
                               (long long)k);
        }
        result = result < 0 ? -1 : check_order(source, &box, k, err);
        boxes[count++] = box;
    }
    free(weighed);
    if (result < 0) {
        free(boxes);
        return -1;
    }
    *ret_boxes = boxes;
    *ret_count = count;
    return 0;
}
