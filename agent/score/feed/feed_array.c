// SPDX-License-Identifier: Apache-2.0
/* A slice of spec.input.npy. Several inputs take its values one after the other. */
#include "agent/score/feed/feed.h"

#include "agent/score/feed/slices.h"

#include <stdlib.h>

struct feed {
    const struct feed_input *inputs;
    size_t count;
    struct npy_slice *slices; /* one per input */
};

static int array_open(const struct feed_options *options, struct feed **ret_feed,
                      struct error *err UNUSED) {
    struct feed *feed = x_calloc(1, sizeof *feed);
    *feed = (struct feed){.inputs = options->inputs,
                          .count = options->count,
                          .slices = x_calloc(options->count, sizeof *feed->slices)};
    *ret_feed = feed;
    return 0;
}

static int array_take(struct feed *feed, const struct feed_item *item, struct error *err) {
    return slices_part(&item->item->slice, feed->inputs, feed->count, feed->slices, err);
}

static int array_check(const struct feed *feed, struct error *err) {
    for (size_t i = 0; i < feed->count; i++) {
        if (slices_check_values(&feed->slices[i], feed->inputs[i].type, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int array_measure(const struct feed *feed, size_t index, struct tensor *ret_values,
                         bool *ret_is_shared, struct error *err) {
    return slices_measure(&feed->slices[index], &feed->inputs[index], ret_values, ret_is_shared,
                          err);
}

static void array_fill(const struct feed *feed, size_t index, const struct shape *shape UNUSED,
                       void *values) {
    slices_fill(&feed->slices[index], feed->inputs[index].type, values);
}

static void array_free(struct feed *feed) {
    if (feed) {
        free(feed->slices);
        free(feed);
    }
}

const struct feed_kind feed_array = {
    .name = "array",
    .open = array_open,
    .take = array_take,
    .check = array_check,
    .measure = array_measure,
    .fill = array_fill,
    .free = array_free,
};
