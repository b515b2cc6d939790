// SPDX-License-Identifier: Apache-2.0
/* A column of a row that is a list of numbers, in steps of as many as the network's input takes, or
 * as `size` says where it leaves one axis free: the samples of a recording. The input has an axis
 * for the steps behind that of the items. With `pad` zeros fill up the last step. */
#include "agent/score/feed/feed.h"

#include "agent/score/feed/row_value.h"

#include <math.h>
#include <stdlib.h>

enum { VALUES_MAX = 1 << 26, STEPS_AXIS = 1 };

struct feed {
    const struct feed_input *input;
    const char *column;
    const json_t *list; /* of the taken row */
    struct shape shape; /* of its values */
    bool pads;
};

/* Gives the one free axis of a step the size that makes `size` numbers of it. -1: it cannot. */
static int set_size(struct shape *shape, int64_t size) {
    int free_axis = -1;
    int64_t width = 1;
    for (int i = STEPS_AXIS + 1; i < shape->rank; i++) {
        if (shape->dims[i] < 0 && free_axis >= 0) {
            return -1;
        }
        free_axis = shape->dims[i] < 0 ? i : free_axis;
        width = shape->dims[i] < 0 ? width : MIN(width * shape->dims[i], VALUES_MAX);
    }
    if (free_axis < 0) {
        return width > 0 && (size == 0 || size == width) ? 0 : -1;
    }
    if (size == 0 || width == 0 || size % width != 0) {
        return -1;
    }
    shape->dims[free_axis] = size / width;
    return 0;
}

static int steps_open(const struct feed_options *options, struct feed **ret_feed,
                      struct error *err) {
    const struct feed_input *input = options->inputs;
    struct shape shape = input->shape;
    if (input->strings || set_size(&shape, tree_integer(options->entry, "size", 0)) < 0) {
        return error_set(err, ERROR_INVALID,
                         "%s.steps: the network's input %.64s does not say how many numbers a step "
                         "has: an input of fixed sizes, or with one free axis and size, which the "
                         "fixed ones divide, and a state beside it are expected",
                         options->field, input->name);
    }
    *ret_feed = x_calloc(1, sizeof **ret_feed);
    **ret_feed = (struct feed){
        .input = input,
        .column = json_string_value(json_object_get(options->entry, "steps")),
        .shape = shape,
        .pads = tree_bool(options->entry, "pad", false),
    };
    return 0;
}

static bool is_held(enum tensor_type type, const json_t *value) {
    double number = json_number_value(value);
    return json_is_number(value) &&
           (tensor_type_is_real(type) || (number == trunc(number) && fabs(number) <= 0x1p53));
}

static int steps_take(struct feed *feed, const struct feed_item *item, struct error *err) {
    const json_t *list = row_value(item->row, feed->column);
    size_t count = json_array_size(list), i;
    json_t *value;
    feed->shape.dims[0] = feed->shape.dims[STEPS_AXIS] = 1;
    int64_t width = shape_count(&feed->shape);
    if (!json_is_array(list) || count == 0 || count > VALUES_MAX ||
        (!feed->pads && (int64_t)count % width != 0)) {
        return error_set(
            err, ERROR_INVALID,
            "column \"%.64s\" is %s of %zu values, a list of numbers is expected whose "
            "length is a multiple of %lld (pad: true fills up the last step)",
            feed->column, json_is_array(list) ? "a list" : "not a list", count, (long long)width);
    }
    json_array_foreach(list, i, value) {
        if (!is_held(feed->input->type, value)) {
            return error_set(err, ERROR_INVALID,
                             "column \"%.64s\": value %zu is not a number of type %s", feed->column,
                             i, tensor_type_name(feed->input->type));
        }
    }
    feed->list = list;
    feed->shape.dims[STEPS_AXIS] = ((int64_t)count + width - 1) / width;
    return 0;
}

static int steps_measure(const struct feed *feed, size_t index UNUSED, struct tensor *ret_values,
                         bool *ret_is_shared, struct error *err UNUSED) {
    *ret_is_shared = false;
    *ret_values = (struct tensor){.type = feed->input->type, .shape = feed->shape};
    return 0;
}

static void steps_fill(const struct feed *feed, size_t index UNUSED, const struct shape *shape,
                       void *values) {
    struct tensor tensor = {.type = feed->input->type, .shape = *shape, .data = values};
    size_t i;
    json_t *value;
    json_array_foreach(feed->list, i, value) {
        tensor_put_number(&tensor, (int64_t)i, json_number_value(value));
    }
    for (int64_t at = (int64_t)json_array_size(feed->list); at < shape_count(shape); at++) {
        tensor_put_number(&tensor, at, 0);
    }
}

static void steps_columns(const struct feed *feed, json_t *names) {
    row_value_add_name(names, feed->column);
}

static void steps_free(struct feed *feed) {
    free(feed);
}

const struct feed_kind feed_steps = {
    .name = "steps",
    .open = steps_open,
    .take = steps_take,
    .measure = steps_measure,
    .fill = steps_fill,
    .columns = steps_columns,
    .free = steps_free,
};
