// SPDX-License-Identifier: Apache-2.0
/* A state: what an output of the network was in the step before (feeds_state), zeros at an item's
 * first step. */
#include "agent/score/feed/feed.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 24 };

struct feed {
    struct tensor tensor; /* type and shape alone */
};

static int state_open(const struct feed_options *options, struct feed **ret_feed,
                      struct error *err) {
    const struct feed_input *input = options->inputs;
    struct shape shape = input->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = MAX(shape.dims[i], 1); /* one item at a time */
    }
    int64_t count = shape_count(&shape);
    if (input->strings || count < 0 || count > VALUES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%s.state: the network's input %.64s has strings or more than %d values, "
                         "numbers are expected",
                         options->field, input->name, VALUES_MAX);
    }
    *ret_feed = x_calloc(1, sizeof **ret_feed);
    (*ret_feed)->tensor = (struct tensor){.type = input->type, .shape = shape};
    return 0;
}

static int state_take(struct feed *feed UNUSED, const struct feed_item *item UNUSED,
                      struct error *err UNUSED) {
    return 0;
}

static int state_measure(const struct feed *feed, size_t index UNUSED, struct tensor *ret_values,
                         bool *ret_is_shared, struct error *err UNUSED) {
    *ret_is_shared = true;
    *ret_values = feed->tensor;
    return 0;
}

static void state_fill(const struct feed *feed, size_t index UNUSED, const struct shape *shape,
                       void *values) {
    memset(values, 0, (size_t)shape_count(shape) * tensor_type_size(feed->tensor.type));
}

static void state_free(struct feed *feed) {
    free(feed);
}

const struct feed_kind feed_state = {
    .name = "state",
    .open = state_open,
    .take = state_take,
    .measure = state_measure,
    .fill = state_fill,
    .free = state_free,
};
