/* post_tests.h: for tests of the types of postprocess: opens one by its fields, and reads the
 * result of an item. */
#pragma once

#include "agent/score/post/post_kind.h"
#include "tests/test.h"
#include "tests/unit/agent/spec_defaults.h"

#include <stdlib.h>

struct opened {
    const struct post_kind *kind;
    struct post_state *state;
    json_t *spec;
};

/* onnx: the fields of spec.scorer.onnx, as JSON. */
static inline struct opened open_post(const char *onnx) {
    struct error err = {0};
    struct opened opened = {
        .spec = json_pack("{s:{s:o}}", "scorer", "onnx", json_loads(onnx, 0, NULL))};
    spec_fill(opened.spec);
    opened.kind = post_kind_find(tree_text(opened.spec, "scorer.onnx.postprocess.type", ""));
    CHECK(opened.kind);
    CHECK_OK(opened.kind->open(opened.spec, &opened.state, &err), &err);
    return opened;
}

static inline void close_post(struct opened *opened) {
    opened->kind->free(opened->state);
    json_decref(opened->spec);
}

/* The result of item `index` of these outputs. */
static inline int result_why(const struct opened *opened, const struct post_outputs *outputs,
                             int64_t index, const struct post_item *item,
                             struct post_result *ret_result, struct error *err) {
    *ret_result = (struct post_result){0};
    int result = opened->kind->result(opened->state, outputs, index, item, ret_result, err);
    CHECK_INT(err->kind, result < 0 ? ERROR_FAILED : ERROR_NONE);
    return result;
}

static inline int result_of(const struct opened *opened, const struct post_outputs *outputs,
                            int64_t index, const struct post_item *item,
                            struct post_result *ret_result) {
    struct error ignored = {0};
    return result_why(opened, outputs, index, item, ret_result, &ignored);
}

/* The record of a result as text, of a tree with sorted keys; the caller frees. */
static inline char *result_text(struct post_result *result) {
    char *text = result->json ? x_strdup(result->json)
                              : json_dumps(result->record, JSON_COMPACT | JSON_SORT_KEYS);
    CHECK(!result->json || strlen(result->json) == result->json_size);
    post_result_release(result);
    return text;
}

/* The record of item `index` of one output, as text; the caller frees. */
static inline char *record_of(const struct opened *opened, const struct tensor *output,
                              int64_t index, const struct post_item *item) {
    const char *name = "out";
    struct post_outputs outputs = {
        .tensors = &output, .names = &name, .count = 1, .items = output->shape.dims[0]};
    struct post_result result;
    CHECK(opened->kind->fits(opened->state, output, output->shape.dims[0]));
    CHECK_INT(result_of(opened, &outputs, index, item, &result), 0);
    return result_text(&result);
}

/* The record of item `index` of several outputs, for which the type is asked first. */
static inline char *record_of_list(const struct opened *opened, const struct post_outputs *outputs,
                                   int64_t index, const struct post_item *item) {
    struct error err = {0};
    struct post_result result;
    CHECK_OK(opened->kind->take(opened->state, outputs, &err), &err);
    CHECK_INT(result_of(opened, outputs, index, item, &result), 0);
    return result_text(&result);
}
