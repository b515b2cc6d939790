// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/module_buffers.h"

#include "agent/engine/ops/training/aliases.h"
#include "agent/engine/ops/training/exporter_constant.h"

#include <math.h>
#include <string.h>

enum { LINE_MIN = 8 /* fewer numbers follow a formula by chance */ };

/* ---- by the numbers ------------------------------------------------------------------------- */

/* Numbers along an axis. */
struct line {
    const float *numbers;
    int64_t count, stride;
};

static double step_at(const struct line *line, int64_t i) {
    const float *at = line->numbers + i * line->stride;
    return (double)at[line->stride] - (double)*at;
}

/* Whether each step's neighbours have k times the step as their sum, with one k: so it is in sines
 * and cosines of equal steps, also with a constant beside (windows), and in arithmetic and
 * geometric progressions. *moves: whether the numbers differ by more than rounding. */
static bool follows_formula(const struct line *line, bool *moves) {
    double low = INFINITY, high = -INFINITY, products = 0, squares = 0;
    for (int64_t i = 0; i < line->count; i++) {
        low = fmin(low, (double)line->numbers[i * line->stride]);
        high = fmax(high, (double)line->numbers[i * line->stride]);
    }
    for (int64_t i = 1; i + 2 < line->count; i++) {
        double step = step_at(line, i);
        products += step * (step_at(line, i - 1) + step_at(line, i + 1));
        squares += step * step;
    }
    double k = squares > 0 ? products / squares : 0, top = fmax(fabs(low), fabs(high));
    double allowed = 2e-3 * (high - low) + 2e-6 * top; /* sines of thousands, as float32 */
    for (int64_t i = 1; i + 2 < line->count; i++) {
        double sum = step_at(line, i - 1) + step_at(line, i + 1);
        if (!(fabs(sum - k * step_at(line, i)) <= allowed)) {
            return false;
        }
    }
    *moves |= high - low > 1e-3 * top;
    return true;
}

static bool follows_along(const struct value *value, int axis) {
    int64_t stride = 1, count = value->shape.dims[axis], all = shape_count(&value->shape);
    const float *numbers = value->constant.data;
    bool moves = false;
    for (int i = axis + 1; i < value->shape.rank; i++) {
        stride *= value->shape.dims[i];
    }
    for (int64_t n = 0; n < all / count; n++) {
        const struct line line = {.numbers = numbers + n / stride * stride * count + n % stride,
                                  .count = count,
                                  .stride = stride};
        if (!follows_formula(&line, &moves)) {
            return false;
        }
    }
    return moves;
}

/* The same part several times, along the first axis that has several. */
static bool is_repeated(const struct value *value) {
    int axis = 0;
    while (axis < value->shape.rank && value->shape.dims[axis] == 1) {
        axis++;
    }
    int64_t parts = axis < value->shape.rank ? value->shape.dims[axis] : 1;
    const float *numbers = value->constant.data;
    int64_t each = shape_count(&value->shape) / parts;
    for (int64_t i = each; i < parts * each; i++) {
        if (numbers[i] != numbers[i - each]) {
            return false;
        }
    }
    return parts > 1 && each > 1;
}

/* Of a tensor's numbers. */
struct kinds {
    bool are_whole;
    int different; /* at most 3 are counted */
    int64_t zeros;
};

static struct kinds find_kinds(const struct value *value) {
    const float *numbers = value->constant.data;
    float seen[2] = {numbers[0], numbers[0]};
    struct kinds kinds = {.are_whole = true, .different = 1};
    int64_t count = shape_count(&value->shape);
    for (int64_t i = 0; i < count && (kinds.are_whole || kinds.different < 3); i++) {
        float number = numbers[i];
        bool is_new = number != seen[0] && number != seen[1];
        kinds.are_whole = kinds.are_whole && number == truncf(number);
        kinds.zeros += number == 0;
        if (is_new && kinds.different < 3) {
            seen[1] = number;
            kinds.different++;
        }
    }
    return kinds;
}

static int64_t longest_axis(const struct shape *shape) {
    int64_t longest = 1;
    for (int i = 0; i < shape->rank; i++) {
        longest = MAX(longest, shape->dims[i]);
    }
    return longest;
}

/* Not one number, with which parameters begin; nor an identity matrix. */
static bool is_by_formula(const struct value *value) {
    const struct shape *shape = &value->shape;
    const struct kinds kinds = find_kinds(value);
    int64_t others = shape_count(shape) - kinds.zeros;
    bool is_mask = kinds.different == 2 && kinds.zeros > 0 && others > longest_axis(shape);
    bool found = is_mask || (kinds.different > 2 && (kinds.are_whole || is_repeated(value)));
    for (int axis = 0; axis < shape->rank && kinds.different > 2 && !found; axis++) {
        found = shape->dims[axis] >= LINE_MIN && follows_along(value, axis);
    }
    return found;
}

/* ---- by the name ---------------------------------------------------------------------------- */

static bool has_usual_name(const char *name) {
    static const char *const usual[] = {
        "anchor_grid", "anchors",   "attn_mask",  "causal_mask", "cos_cached",
        "freqs",       "freqs_cis", "image_mean", "image_std",   "inv_freq",
        "mask",        "mean",      "pe",         "pixel_mean",  "pixel_std",
        "sin_cached",  "std",       "tril",       "window",
    };
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        if (strcmp(last, usual[i]) == 0) {
            return true;
        }
    }
    return false;
}

void module_buffers_note(struct graph *network, struct forms_list *list) {
    for (size_t v = 0; v < network->value_count; v++) {
        const struct value *value = &network->values[v];
        bool may_be = value->is_constant && value->type == TENSOR_FLOAT32 && !value->is_literal &&
                      value->name && shape_count(&value->shape) > 0 &&
                      !exporter_constant_has_name(value->name);
        if (may_be && (has_usual_name(value->name) || is_by_formula(value))) {
            aliases_note(&network->arena, list, value->name);
        }
    }
}
