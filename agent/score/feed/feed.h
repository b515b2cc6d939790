/* feed.h: a source of values for inputs of a network: the item's picture, columns of its row, the
 * tokens of its text, its array, a constant, or a state. One row of functions for each (feeds.c has
 * the table). */
#pragma once

#include "agent/data/input/input.h"
#include "agent/engine/tensor.h"
#include "agent/score/feed/preprocess.h"

struct string_table;

/* An input of the network; all pointers are borrowed. */
struct feed_input {
    const char *name;
    enum tensor_type type;
    struct shape shape;                 /* [n, ...], -1: any */
    const struct string_table *strings; /* of a string input, whose values are indices into these,
                                           from 0; else NULL */
};

/* Whether it takes one picture [c, h, w] or [h, w, c], without an axis for the items. */
bool feed_is_bare_picture(const struct feed_input *input);
/* Puts an axis for one item in front, if the shape has room for one. */
void feed_add_items(struct shape *shape);

/* All pointers are borrowed and must outlive the feed. */
struct feed_options {
    const json_t *spec;
    const json_t *entry;             /* of spec.scorer.onnx.inputs, if it feeds one of them; NULL:
                                        by default */
    const char *field;               /* the entry's, for messages: "spec.scorer.onnx.inputs[2]" */
    const struct feed_input *inputs; /* those that it feeds */
    size_t count;
    bool has_bytes; /* a device converts bytes to the network's input (session.h: pixels_in) */
};

struct feed_item {
    const struct item *item;
    const json_t
        *row; /* the object of an ITEM_JSON; NULL: it is not an object, or another type of item */
};

/* Where the tokens of an item's text are in the network's inputs. */
struct feed_span {
    int64_t count; /* without padding; 0: the item has none */
    int64_t all;   /* with the padding that it has by itself */
    bool is_last;  /* padding is before them */
};

struct feed; /* defined by each kind */

struct feed_kind {
    const char *name; /* the field of an entry */
    /* INVALID names the field and what the network's input is. */
    int (*open)(const struct feed_options *options, struct feed **ret_feed, struct error *err);
    /* Takes one item, which stays borrowed until the next call. INVALID: the item does not fit. */
    int (*take)(struct feed *feed, const struct feed_item *item, struct error *err);
    /* The same for an ITEM_JSON, without a tree of its row. False: `take` must have the tree. NULL:
     * it always must. */
    bool (*take_text)(struct feed *feed, const struct item *item);
    /* Whether the inputs' types hold the taken item's values. INVALID: which it does not. NULL:
     * take has seen to that. */
    int (*check)(const struct feed *feed, struct error *err);
    /* Type and shape of the taken item's values for its input `index`, with 1 as dims[0]; data is
     * not set. *ret_is_shared: they are the same for every item, and the shape is the input's,
     * without an axis for items. */
    int (*measure)(const struct feed *feed, size_t index, struct tensor *ret_values,
                   bool *ret_is_shared, struct error *err);
    /* Writes them. shape: of the item's values, as measured; with `pads` the second axis may be
     * longer, and what is behind (or before) the item's own values is filled up. */
    void (*fill)(const struct feed *feed, size_t index, const struct shape *shape, void *values);
    /* True: `fill` may pad values to a longer second axis, because the network ignores what is
     * added (it has a mask). NULL: never. */
    bool (*pads)(const struct feed *feed, size_t index);
    /* Adds the files that the values depend on (scorer.h). NULL: none. */
    void (*files)(const struct feed *feed, json_t *files);
    /* Adds the names of the columns that it takes to an array. NULL: none. */
    void (*columns)(const struct feed *feed, json_t *names);
    /* Where the tokens of the taken text are. NULL: not a text. */
    struct feed_span (*span)(const struct feed *feed);
    /* Where the taken picture is in the input; NULL: not a picture. */
    const struct preprocess_size *(*size)(const struct feed *feed);
    void (*free)(struct feed *feed); /* accepts NULL */
};

extern const struct feed_kind feed_picture;  /* a picture or frame, by preprocess.h */
extern const struct feed_kind feed_columns;  /* columns of a row, by columns.h */
extern const struct feed_kind feed_tokens;   /* ids, mask, ... of a text, by texts.h */
extern const struct feed_kind feed_array;    /* a slice, by slices.h */
extern const struct feed_kind feed_constant; /* the same for every item */
extern const struct feed_kind feed_steps;    /* a list in a column of a row, step by step */
extern const struct feed_kind feed_state;    /* what an output was in the step before */
