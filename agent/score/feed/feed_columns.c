// SPDX-License-Identifier: Apache-2.0
/* Columns of a row of spec.input.table. */
#include "agent/score/feed/feed.h"

#include "agent/score/feed/columns.h"

#include <stdlib.h>

struct feed {
    const struct feed_input *inputs;
    struct columns *columns;
    const struct npy_slice *slices; /* of the taken row, one per input */
};

static int columns_open(const struct feed_options *options, struct feed **ret_feed,
                        struct error *err) {
    const json_t *names = json_object_get(options->entry, "columns");
    const struct columns_options given = {
        .names = options->entry ? names : tree_get(options->spec, "scorer.onnx.columns"),
        .field = options->entry ? options->field : "spec.scorer.onnx.columns",
        .model = tree_text(options->spec, "scorer.onnx.path", ""),
    };
    struct columns *columns = NULL;
    if (columns_new(&given, options->inputs, options->count, &columns, err) < 0) {
        return -1;
    }
    struct feed *feed = x_calloc(1, sizeof *feed);
    *feed = (struct feed){.inputs = options->inputs, .columns = columns};
    *ret_feed = feed;
    return 0;
}

static int columns_take(struct feed *feed, const struct feed_item *item, struct error *err) {
    if (columns_read(feed->columns, item->row, &feed->slices, err) < 0) {
        return -1;
    }
    columns_learn(feed->columns, item->item->text, item->item->text_size);
    return 0;
}

static bool columns_take_text(struct feed *feed, const struct item *item) {
    return columns_read_text(feed->columns, item->text, item->text_size, &feed->slices);
}

static int columns_measure(const struct feed *feed, size_t index, struct tensor *ret_values,
                           bool *ret_is_shared, struct error *err) {
    return slices_measure(&feed->slices[index], &feed->inputs[index], ret_values, ret_is_shared,
                          err);
}

static void columns_fill(const struct feed *feed, size_t index, const struct shape *shape UNUSED,
                         void *values) {
    slices_fill(&feed->slices[index], feed->inputs[index].type, values);
}

static void columns_names(const struct feed *feed, json_t *names) {
    columns_add_names(feed->columns, names);
}

static void columns_close(struct feed *feed) {
    if (feed) {
        columns_free(feed->columns);
        free(feed);
    }
}

const struct feed_kind feed_columns = {
    .name = "columns",
    .open = columns_open,
    .take = columns_take,
    .take_text = columns_take_text,
    .measure = columns_measure,
    .fill = columns_fill,
    .columns = columns_names,
    .free = columns_close,
};
