/* post_kind.h: one type of spec.scorer.onnx.postprocess, as post.h calls it. A new type is one file
 * here and one row of post_kinds. */
#pragma once

#include "agent/score/post/post.h"

/* The outputs that a type takes, of one run. All pointers are borrowed. */
struct post_outputs {
    const struct tensor *const *tensors;
    const char *const *names;
    size_t count;
    int64_t items;
    /* A device has converted the only one to bytes: tensors[0] is uint8 [n, h, w, 3], tensors[1] is
     * int32 [n, h] (session_returns_pixels). */
    bool has_pixels;
};

struct post_state; /* defined by each type */

struct post_kind {
    const char *name;  /* as the spec writes it */
    const char *needs; /* the output that fits, for messages */
    bool wants_pictures;
    /* Takes all outputs that `take` can use, unless the spec names some. Otherwise it takes one,
     * and several only if spec.scorer.onnx.outputs names them. */
    bool takes_all;
    /* Where several outputs fit and all of them have names of this list: the first of these is
     * taken. Ends with NULL; NULL: they are refused. */
    const char *const *known;
    /* Reads the fields. *ret_state is given to all other functions. */
    int (*open)(const json_t *spec, struct post_state **ret_state, struct error *err);
    void (*free)(struct post_state *state); /* accepts NULL */
    /* NULL functions: no pictures; never; no files; no names. */
    const struct pixel_conversion *(*pixels)(const struct post_state *state);
    bool (*draws)(const struct post_state *state); /* post_draws */
    void (*files)(const struct post_state *state, json_t *files);
    /* Called once output `index` of the network has been chosen. */
    void (*chosen)(struct post_state *state, const struct session *session, size_t index);
    /* Whether an output can be used for this many items. NULL: the type takes several. */
    bool (*fits)(const struct post_state *state, const struct tensor *output, int64_t items);
    /* For several: those that the spec names, in its order, else all. Called for each run, before
     * `result` gets the same ones. INVALID: they do not fit. NULL: the type takes only one. */
    int (*take)(struct post_state *state, const struct post_outputs *outputs, struct error *err);
    int (*result)(const struct post_state *state, const struct post_outputs *outputs, int64_t index,
                  const struct post_item *item, struct post_result *ret_result, struct error *err);
};

extern const struct post_kind post_image, post_classes, post_values, post_raw, post_embedding,
    post_boxes, post_mask, post_text;
extern const struct post_kind *const post_kinds[]; /* ends with NULL */

/* The row of this name; NULL: none. */
const struct post_kind *post_kind_find(const char *name);
