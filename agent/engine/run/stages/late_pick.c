// SPDX-License-Identifier: Apache-2.0
/* Operators whose results have as many elements as the values say. */
#include "agent/engine/run/stages/late.h"

#include "agent/engine/ops/infer/params.h"

#include <stdlib.h>
#include <string.h>

enum { EMPTY_ROWS_MAX = 1 << 20 };

int late_non_zero(const struct late_call *call, struct error *err) {
    const struct tensor *x;
    if (late_tensor(call, 0, &x, err) < 0) {
        return -1;
    }
    int rank = x->shape.rank;
    if (rank == 0) { /* the standard and runtimes are at odds */
        return error_set(err, ERROR_UNSUPPORTED, "NonZero of a single number is not supported");
    }
    int64_t size = shape_count(&x->shape), count = 0, at = 0;
    for (int64_t i = 0; i < size; i++) {
        count += tensor_number(x, i) != 0; /* NaN counts */
    }
    struct shape shape = {2, {rank, count}};
    if (parcel_new(TENSOR_INT64, &shape, &call->outputs[0], err) < 0) {
        return -1;
    }
    int64_t *places = call->outputs[0]->tensor.data;
    for (int64_t i = 0; i < size; i++) {
        if (tensor_number(x, i) == 0) {
            continue;
        }
        int64_t rest = i;
        for (int k = rank; k-- > 0;) {
            places[k * count + at] = rest % x->shape.dims[k];
            rest /= x->shape.dims[k];
        }
        at++;
    }
    return 0;
}

int late_compress(const struct late_call *call, struct error *err) {
    const struct tensor *x, *condition;
    if (late_tensor(call, 0, &x, err) < 0 || late_tensor(call, 1, &condition, err) < 0) {
        return -1;
    }
    bool is_flat = !node_attribute(call->node, "axis");
    int64_t said = shape_count(&condition->shape), count = 0;
    struct tensor flat = *x;
    int axis = 0;
    if (condition->type != TENSOR_BOOL || condition->shape.rank != 1) {
        return error_set(err, ERROR_INVALID, "input 1 must be a list of bool");
    }
    if (is_flat) {
        flat.shape = (struct shape){1, {shape_count(&x->shape)}};
    } else if (param_axis(node_integer(call->node, "axis", 0), x->shape.rank, &axis, err) < 0) {
        return -1;
    }
    struct around around = param_around_axis(&flat.shape, axis);
    struct shape shape = flat.shape;
    const bool *takes = condition->data;
    if (said > around.size) {
        return error_set(err, ERROR_INVALID,
                         "the condition has %lld elements, expected at most %lld", (long long)said,
                         (long long)around.size);
    }
    for (int64_t i = 0; i < said; i++) {
        count += takes[i];
    }
    shape.dims[axis] = count;
    if (parcel_new(x->type, &shape, &call->outputs[0], err) < 0) {
        return -1;
    }
    size_t each = (size_t)around.inner * tensor_type_size(x->type);
    char *to = call->outputs[0]->tensor.data;
    for (int64_t i = 0; i < around.outer * said && each; i++) {
        if (takes[i % said]) {
            int64_t from = i / said * around.size + i % said;
            memcpy(to, (const char *)x->data + (size_t)from * each, each);
            to += each;
        }
    }
    return 0;
}

/* ---- Unique --------------------------------------------------------------------------------- */

/* Rows of a tensor along an axis: element (outer, inner) of row i. */
struct rows {
    const struct tensor *tensor;
    struct around around;
};

static int compare_rows(const struct rows *rows, int64_t a, int64_t b) {
    const struct around *around = &rows->around;
    for (int64_t i = 0; i < around->outer * around->inner; i++) {
        int64_t outer = i / around->inner, inner = i % around->inner;
        int order = tensor_compare(rows->tensor, (outer * around->size + a) * around->inner + inner,
                                   (outer * around->size + b) * around->inner + inner);
        if (order) {
            return order;
        }
    }
    return 0;
}

static int by_row(const void *left, const void *right, void *context) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    int order = compare_rows(context, a, b);
    return order ? order : a < b ? -1 : 1;
}

static int by_index(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* firsts: the first row of each kind, in the order of the result; kind: of each row. */
struct kinds {
    int64_t count;
    int64_t *firsts, *kind, *counts;
};

static void find_kinds(const struct rows *rows, bool is_sorted, struct kinds *kinds) {
    int64_t size = rows->around.size;
    int64_t *order = x_calloc((size_t)size + 1, sizeof *order);
    int64_t *place = x_calloc((size_t)size + 1, sizeof *place);
    for (int64_t i = 0; i < size; i++) {
        order[i] = i;
    }
    qsort_r(order, (size_t)size, sizeof *order, by_row, (void *)(uintptr_t)rows);
    for (int64_t i = 0; i < size; i++) {
        bool is_new = i == 0 || compare_rows(rows, order[i - 1], order[i]) != 0;
        if (is_new) {
            kinds->firsts[kinds->count++] = order[i];
        }
        place[order[i]] = kinds->firsts[kinds->count - 1];
    }
    if (!is_sorted) {
        qsort(kinds->firsts, (size_t)kinds->count, sizeof *order, by_index);
    }
    for (int64_t i = 0; i < kinds->count; i++) {
        order[kinds->firsts[i]] = i; /* from the first row to its kind */
    }
    for (int64_t i = 0; i < size; i++) {
        kinds->kind[i] = order[place[i]];
        kinds->counts[kinds->kind[i]]++;
    }
    free(order);
    free(place);
}

static int put_integers(const int64_t *numbers, int64_t count, struct parcel **ret_item,
                        struct error *err) {
    if (parcel_new(TENSOR_INT64, &(struct shape){1, {count}}, ret_item, err) < 0) {
        return -1;
    }
    if (count) {
        memcpy((*ret_item)->tensor.data, numbers, (size_t)count * sizeof *numbers);
    }
    return 0;
}

static int put_unique(const struct late_call *call, const struct rows *rows, int axis,
                      const struct kinds *kinds, struct error *err) {
    const struct around *around = &rows->around;
    struct shape shape = rows->tensor->shape;
    shape.dims[axis] = kinds->count;
    if (parcel_new(rows->tensor->type, &shape, &call->outputs[0], err) < 0) {
        return -1;
    }
    size_t each = (size_t)around->inner * tensor_type_size(rows->tensor->type);
    for (int64_t i = 0; i < around->outer * kinds->count && each; i++) {
        int64_t from = i / kinds->count * around->size + kinds->firsts[i % kinds->count];
        memcpy((char *)call->outputs[0]->tensor.data + (size_t)i * each,
               (const char *)rows->tensor->data + (size_t)from * each, each);
    }
    const int64_t *numbers[] = {kinds->firsts, kinds->kind, kinds->counts};
    for (int i = 1; i < call->output_count; i++) {
        int64_t count = i == 2 ? around->size : kinds->count;
        if (put_integers(numbers[i - 1], count, &call->outputs[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool has_nan(const struct tensor *tensor) {
    for (int64_t i = 0; tensor_type_is_real(tensor->type) && i < shape_count(&tensor->shape); i++) {
        if (tensor_compare(tensor, i, i) == 2) {
            return true;
        }
    }
    return false;
}

int late_unique(const struct late_call *call, struct error *err) {
    const struct tensor *x;
    int axis = 0;
    if (late_tensor(call, 0, &x, err) < 0) {
        return -1;
    }
    struct tensor flat = *x;
    if (!node_attribute(call->node, "axis")) {
        flat.shape = (struct shape){1, {shape_count(&x->shape)}};
    } else if (param_axis(node_integer(call->node, "axis", 0), x->shape.rank, &axis, err) < 0) {
        return -1;
    }
    if (has_nan(x)) {
        return error_set(err, ERROR_UNSUPPORTED, "Unique: NaN is not supported");
    }
    struct rows rows = {&flat, param_around_axis(&flat.shape, axis)};
    if (shape_count(&flat.shape) == 0 && rows.around.size > EMPTY_ROWS_MAX) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "Unique: %lld empty rows, at most %d are supported",
                         (long long)rows.around.size, EMPTY_ROWS_MAX);
    }
    size_t size = (size_t)rows.around.size + 1;
    struct kinds kinds = {0, x_calloc(size, sizeof(int64_t)), x_calloc(size, sizeof(int64_t)),
                          x_calloc(size, sizeof(int64_t))};
    find_kinds(&rows, node_integer(call->node, "sorted", 1) != 0, &kinds);
    int result = put_unique(call, &rows, axis, &kinds, err);
    free(kinds.firsts);
    free(kinds.kind);
    free(kinds.counts);
    return result;
}

/* ---- NonMaxSuppression ---------------------------------------------------------------------- */

struct suppression {
    const float *boxes, *scores; /* of one image; of one class */
    int64_t box_count, most;
    float overlap, least; /* of two kept boxes; of the score, with has_least */
    bool has_least, is_center;
};

struct corners {
    float low[2], high[2];
};

static struct corners corners_of(const struct suppression *task, int64_t box) {
    const float *four = task->boxes + 4 * box;
    struct corners c;
    for (int i = 0; i < 2; i++) {
        float a = four[i], b = four[2 + i];
        c.low[i] = task->is_center ? a - b / 2 : MIN(a, b);
        c.high[i] = task->is_center ? a + b / 2 : MAX(a, b);
    }
    return c;
}

static bool overlaps(const struct suppression *task, int64_t a, int64_t b) {
    struct corners p = corners_of(task, a), q = corners_of(task, b);
    float sides[2];
    for (int i = 0; i < 2; i++) {
        sides[i] = MIN(p.high[i], q.high[i]) - MAX(p.low[i], q.low[i]);
        if (!(sides[i] > 0)) {
            return false;
        }
    }
    float common = sides[0] * sides[1];
    float area = (p.high[0] - p.low[0]) * (p.high[1] - p.low[1]);
    float other = (q.high[0] - q.low[0]) * (q.high[1] - q.low[1]);
    return area > 0 && other > 0 && common / (area + other - common) > task->overlap;
}

static int by_score(const void *left, const void *right, void *context) {
    const float *scores = context;
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return scores[a] > scores[b] ? -1 : scores[a] < scores[b] ? 1 : a < b ? -1 : 1;
}

/* Returns how many boxes are kept; kept: room for all. */
static int64_t suppress(const struct suppression *task, int64_t *order, int64_t *kept) {
    int64_t candidates = 0, count = 0;
    for (int64_t i = 0; i < task->box_count; i++) {
        if (!task->has_least || task->scores[i] > task->least) {
            order[candidates++] = i;
        }
    }
    qsort_r(order, (size_t)candidates, sizeof *order, by_score, (void *)(uintptr_t)task->scores);
    for (int64_t i = 0; i < candidates && count < task->most; i++) {
        bool keeps = true;
        for (int64_t k = 0; keeps && k < count; k++) {
            keeps = !overlaps(task, order[i], kept[k]);
        }
        if (keeps) {
            kept[count++] = order[i];
        }
    }
    return count;
}

static int check_boxes(const struct tensor *boxes, const struct tensor *scores, struct error *err) {
    const struct shape *b = &boxes->shape, *s = &scores->shape;
    bool fits = boxes->type == TENSOR_FLOAT32 && scores->type == TENSOR_FLOAT32 && b->rank == 3 &&
                s->rank == 3 && b->dims[2] == 4 && b->dims[0] == s->dims[0] &&
                b->dims[1] == s->dims[2];
    return fits ? 0
                : error_set(err, ERROR_INVALID,
                            "boxes must be float32 [images, boxes, 4] and scores float32 [images, "
                            "classes, boxes]");
}

/* Appends rows of image, class and box. */
static void add_rows(struct parcel **rows, const int64_t *kept, int64_t count, int64_t at,
                     const int64_t *place) {
    int64_t *to = (int64_t *)(*rows)->tensor.data + 3 * at;
    for (int64_t i = 0; i < count; i++) {
        to[3 * i] = place[0];
        to[3 * i + 1] = place[1];
        to[3 * i + 2] = kept[i];
    }
}

static int suppress_all(const struct late_call *call, const struct tensor *boxes,
                        const struct tensor *scores, struct suppression *task, struct error *err) {
    int64_t images = scores->shape.dims[0], classes = scores->shape.dims[1], total = 0;
    int64_t n = task->box_count = scores->shape.dims[2];
    int64_t most = images * classes == 0 ? 0 : MAX(MIN(task->most, n), 0);
    struct parcel *all = NULL;
    if (parcel_new(TENSOR_INT64, &(struct shape){2, {images * classes * most, 3}}, &all, err) < 0) {
        return -1;
    }
    if (most == 0) { /* n may be any number then */
        call->outputs[0] = all;
        return 0;
    }
    int64_t *order = x_calloc((size_t)n + 1, sizeof *order);
    int64_t *kept = x_calloc((size_t)n + 1, sizeof *kept);
    for (int64_t i = 0; i < images * classes; i++) {
        const int64_t place[] = {i / classes, i % classes};
        task->boxes = (const float *)boxes->data + place[0] * n * 4;
        task->scores = (const float *)scores->data + i * n;
        int64_t count = suppress(task, order, kept);
        add_rows(&all, kept, count, total, place);
        total += count;
    }
    free(order);
    free(kept);
    all->tensor.shape.dims[0] = total;
    call->outputs[0] = all;
    return 0;
}

int late_non_max_suppression(const struct late_call *call, struct error *err) {
    const struct tensor *boxes, *scores;
    double most, overlap, least;
    if (late_tensor(call, 0, &boxes, err) < 0 || late_tensor(call, 1, &scores, err) < 0 ||
        check_boxes(boxes, scores, err) < 0 || late_number(call, 2, 0, &most, err) < 0 ||
        late_number(call, 3, 0, &overlap, err) < 0 || late_number(call, 4, 0, &least, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < shape_count(&scores->shape); i++) {
        if (tensor_compare(scores, i, i) == 2) {
            return error_set(err, ERROR_INVALID, "a score is NaN");
        }
    }
    struct suppression task = {.most = (int64_t)MAX(MIN(most, 1e15), 0),
                               .overlap = (float)overlap,
                               .least = (float)least,
                               .has_least = late_has(call, 4),
                               .is_center = node_integer(call->node, "center_point_box", 0) != 0};
    return suppress_all(call, boxes, scores, &task, err);
}
