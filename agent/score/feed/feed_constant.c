// SPDX-License-Identifier: Apache-2.0
/* The same values for every item: one number, which fills the input, or as many as it has. */
#include "agent/score/feed/feed.h"

#include "agent/score/feed/slices.h"
#include "lib/number/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 24 };

struct feed {
    struct tensor tensor; /* its data is owned */
    bool is_shared;       /* the network's input has no axis for the items */
    size_t size;          /* bytes */
};

static double read_number(const json_t *value) {
    const char *text = json_string_value(value);
    char *end = NULL;
    double number = text                     ? strtod(text, &end)
                    : json_is_boolean(value) ? (double)json_boolean_value(value)
                                             : json_number_value(value);
    bool is_number = text ? end != text && !*end : json_is_number(value) || json_is_boolean(value);
    return is_number ? number : (double)NAN;
}

/* False: the type has no such value. */
static bool store(enum tensor_type type, double number, void *values, int64_t at) {
    bool is_whole = number == trunc(number) && fabs(number) <= 0x1p53;
    switch (type) {
    case TENSOR_FLOAT32:
        ((float *)values)[at] = (float)number;
        return slices_holds(type, number);
    case TENSOR_FLOAT64:
        ((double *)values)[at] = number;
        return true;
    case TENSOR_FLOAT16:
        ((uint16_t *)values)[at] = half_from_double(number);
        return true;
    case TENSOR_INT64:
        ((int64_t *)values)[at] = is_whole ? (int64_t)number : 0;
        return is_whole;
    case TENSOR_INT32:
        is_whole = is_whole && number >= INT32_MIN && number <= INT32_MAX;
        ((int32_t *)values)[at] = is_whole ? (int32_t)number : 0;
        return is_whole;
    case TENSOR_UINT8:
        is_whole = is_whole && number >= 0 && number <= UINT8_MAX;
        ((uint8_t *)values)[at] = is_whole ? (uint8_t)number : 0;
        return is_whole;
    case TENSOR_BOOL:
        ((uint8_t *)values)[at] = number != 0;
        return number == 0 || number == 1;
    default:
        return false;
    }
}

/* The input without an axis for items is taken as it is; the other one gets 1 there. A free
 * dimension is 1, or of a list its length, if only one is free. */
static void find_shape(const struct feed_input *input, size_t listed, struct feed *feed) {
    struct shape *shape = &feed->tensor.shape;
    *shape = input->shape;
    feed->is_shared = shape->rank == 0 || shape->dims[0] > 0;
    int64_t known = 1;
    int free_at = -1, free_count = 0;
    for (int i = 0; i < shape->rank; i++) {
        bool is_free = shape->dims[i] < 0;
        if (is_free && (i > 0 || feed->is_shared)) {
            free_at = i;
            free_count++;
        }
        known *= is_free ? 1 : MIN(shape->dims[i], VALUES_MAX);
        known = MIN(known, VALUES_MAX);
        shape->dims[i] = is_free ? 1 : shape->dims[i];
    }
    if (free_count == 1 && known > 0 && (int64_t)listed % known == 0 && listed > 0) {
        shape->dims[free_at] = (int64_t)listed / known;
    }
}

static int refuse(const struct feed_options *options, struct error *err) {
    const struct feed_input *input = options->inputs;
    char text[128];
    shape_format(&input->shape, text);
    return error_set(err, ERROR_INVALID,
                     "%s.constant: a list of one number of the input's type, or of as many as it "
                     "has, is expected; the network's input %.64s is %s %s",
                     options->field, input->name,
                     input->strings ? "strings" : tensor_type_name(input->type), text);
}

static int constant_open(const struct feed_options *options, struct feed **ret_feed,
                         struct error *err) {
    const json_t *given = json_object_get(options->entry, "constant");
    const struct feed_input *input = options->inputs;
    struct feed own = {.tensor = {.type = input->type}};
    size_t listed = json_array_size(given);
    find_shape(input, listed, &own);
    int64_t count = shape_count(&own.tensor.shape);
    if (input->strings || count < 0 || count > VALUES_MAX || listed == 0 ||
        (listed > 1 && (int64_t)listed != count)) {
        return refuse(options, err);
    }
    own.size = (size_t)count * tensor_type_size(input->type);
    own.tensor.data = x_calloc(MAX(own.size, 1), 1);
    for (int64_t i = 0; i < count; i++) {
        double number = read_number(json_array_get(given, listed == 1 ? 0 : (size_t)i));
        if (isnan(number) || !store(input->type, number, own.tensor.data, i)) {
            free(own.tensor.data);
            return refuse(options, err);
        }
    }
    *ret_feed = x_calloc(1, sizeof **ret_feed);
    **ret_feed = own;
    return 0;
}

static int constant_take(struct feed *feed UNUSED, const struct feed_item *item UNUSED,
                         struct error *err UNUSED) {
    return 0;
}

static int constant_measure(const struct feed *feed, size_t index UNUSED, struct tensor *ret_values,
                            bool *ret_is_shared, struct error *err UNUSED) {
    *ret_is_shared = feed->is_shared;
    *ret_values = (struct tensor){.type = feed->tensor.type, .shape = feed->tensor.shape};
    return 0;
}

static void constant_fill(const struct feed *feed, size_t index UNUSED,
                          const struct shape *shape UNUSED, void *values) {
    memcpy(values, feed->tensor.data, feed->size);
}

static void constant_free(struct feed *feed) {
    if (feed) {
        free(feed->tensor.data);
        free(feed);
    }
}

const struct feed_kind feed_constant = {
    .name = "constant",
    .open = constant_open,
    .take = constant_take,
    .measure = constant_measure,
    .fill = constant_fill,
    .free = constant_free,
};
