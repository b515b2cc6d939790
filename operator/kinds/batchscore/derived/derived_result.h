/* derived_result.h: which postprocess type fits a network's outputs. Pure. "Derived": what
 * `windlass score` finds out by itself, from files and the network, for the manifest
 * that it makes. */
#pragma once

#include "operator/kinds/kind_score.h"

/* The options that the user must add: "--range ..., and --type ...". */
struct derived_missing {
    char *text; /* owned; NULL: nothing is missing */
};
/* Appends an option, with ", and " in between. */
void derived_missing_add(struct derived_missing *missing, const char *format, ...)
    PRINTF_LIKE(2, 3);
void derived_missing_release(struct derived_missing *missing); /* for AUTO */

/* A field of spec.scorer.onnx that the user has set, as a text; NULL: not set. */
const char *derived_asked(const struct kind_score *job, const char *field);

/* What becomes of the outputs. Texts are borrowed from the job, or static. */
struct derived_result {
    const char *type, *scores;
    const char *output;      /* its name; NULL: several, or none is known */
    int64_t classes;         /* of the output's last axis; 0: unknown */
    bool has_labels;         /* the network names its classes */
    bool draws;              /* results are drawn on the pictures: postprocess.draw */
    const char *per_picture; /* "pictures" or "masks", one file for each picture; NULL: rows */
};
/* INVALID: the type that was asked for does not fit. What is missing is added to the list. */
NODISCARD int derived_result_find(const struct kind_score *job, struct derived_missing *missing,
                                  struct derived_result *ret_result, struct error *err);
/* "the 5 best of 1000 classes, softmax of \"logits\""; owned. */
char *derived_result_describe(const struct kind_score *job, const struct derived_result *result);
