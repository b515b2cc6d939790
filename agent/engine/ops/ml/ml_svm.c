// SPDX-License-Identifier: Apache-2.0
/* Support vector machines: reads and checks the attributes of SVMClassifier and SVMRegressor. */
#include "agent/engine/ops/ml/ml.h"

#include "agent/engine/ops/op_id.h"

#include <assert.h>
#include <string.h>

enum { KERNEL_PARAMS = 3 };

/* The list of numbers of this name, which must have `wanted` entries. */
static int read_numbers(const struct node *node, const char *name, size_t wanted,
                        const float **ret_numbers, struct error *err) {
    size_t count;
    *ret_numbers = ml_numbers(node, name, &count);
    return count == wanted
               ? 0
               : error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu entries, %zu are expected",
                           name, count, wanted);
}

static int read_kernel(const struct node *node, struct ml_svm *svm, struct error *err) {
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    static_assert(ARRAY_LEN(names) == ML_KERNEL_COUNT, "a name for each kernel");
    const char *text = node_text(node, "kernel_type", names[0]);
    const float *params;
    size_t count;
    int kernel = 0;
    while (strcmp(names[kernel], text) != 0) { /* its rule has checked that it is one of them */
        kernel++;
    }
    svm->kernel = (enum ml_kernel)kernel;
    (void)ml_numbers(node, "kernel_params", &count);
    if (count == 0 && svm->kernel == ML_KERNEL_LINEAR) {
        return 0;
    }
    if (read_numbers(node, "kernel_params", KERNEL_PARAMS, &params, err) < 0) {
        return -1;
    }
    svm->gamma = (double)params[0];
    svm->shift = (double)params[1];
    svm->degree = (double)params[2];
    return 0;
}

/* The support vectors, whose number is known. */
static int read_vectors(const struct node *node, struct ml_svm *svm, struct error *err) {
    size_t count;
    svm->support = ml_numbers(node, "support_vectors", &count);
    if (count == 0 || svm->vectors < 1 || count % (size_t)svm->vectors != 0) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"support_vectors\" has %zu entries, a multiple of %lld (its "
                         "vectors) is expected",
                         count, (long long)svm->vectors);
    }
    svm->features = (int64_t)count / svm->vectors;
    return 0;
}

/* Adds up vectors_per_class. */
static int read_sizes(const struct node *node, struct ml_svm *svm, struct error *err) {
    size_t count, numbers;
    svm->sizes = node_integers(node, "vectors_per_class", &count);
    (void)ml_numbers(node, "support_vectors", &numbers);
    if (count == 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "no attribute \"vectors_per_class\": a LinearClassifier is expected where "
                         "there are no support vectors");
    }
    if (count != (size_t)svm->classes) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"vectors_per_class\" has %zu entries, %lld (its classes) are "
                         "expected",
                         count, (long long)svm->classes);
    }
    for (size_t i = 0; i < count; i++) {
        if (svm->sizes[i] < 0 || svm->sizes[i] > (int64_t)numbers) {
            return error_set(err, ERROR_INVALID,
                             "class %zu has %lld vectors, 0 to %zu are expected", i,
                             (long long)svm->sizes[i], numbers);
        }
        svm->vectors += svm->sizes[i];
    }
    return 0;
}

static int read_classes(const struct node *node, struct ml_svm *svm, struct error *err) {
    struct ml_labels labels = ml_read_labels(node, "classlabels_ints");
    size_t probabilities;
    svm->classes = (int64_t)labels.count;
    svm->pairs = svm->classes * (svm->classes - 1) / 2;
    if (svm->classes < 2 || svm->classes > ML_TARGETS_MAX || svm->pairs > ML_TARGETS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%lld classes; 2 and more, of which there are at most %d pairs, are "
                         "expected",
                         (long long)svm->classes, ML_TARGETS_MAX);
    }
    size_t pairs = (size_t)svm->pairs;
    if (read_sizes(node, svm, err) < 0 || read_vectors(node, svm, err) < 0 ||
        read_numbers(node, "rho", pairs, &svm->rho, err) < 0 ||
        read_numbers(node, "coefficients", (size_t)(svm->classes - 1) * (size_t)svm->vectors,
                     &svm->coefficients, err) < 0) {
        return -1;
    }
    svm->scores = svm->classes == 2 ? 2 : svm->pairs;
    (void)ml_numbers(node, "prob_a", &probabilities);
    if (probabilities == 0) {
        return read_numbers(node, "prob_b", 0, &svm->prob_b, err);
    }
    svm->scores = svm->classes;
    return read_numbers(node, "prob_a", pairs, &svm->prob_a, err) < 0 ||
                   read_numbers(node, "prob_b", pairs, &svm->prob_b, err) < 0
               ? -1
               : 0;
}

static int read_regressor(const struct node *node, struct ml_svm *svm, struct error *err) {
    static const float one = 1;
    size_t count;
    svm->vectors = node_integer(node, "n_supports", 0);
    svm->is_one_class = node_integer(node, "one_class", 0) != 0;
    svm->scores = 1;
    if (read_numbers(node, "rho", 1, &svm->rho, err) < 0) {
        return -1;
    }
    if (svm->vectors != 0) {
        return read_vectors(node, svm, err) < 0
                   ? -1
                   : read_numbers(node, "coefficients", (size_t)svm->vectors, &svm->coefficients,
                                  err);
    }
    /* Without vectors the coefficients are those of the features: one vector, that counts once. */
    svm->kernel = ML_KERNEL_LINEAR;
    svm->vectors = 1;
    svm->support = ml_numbers(node, "coefficients", &count);
    svm->coefficients = &one;
    svm->features = (int64_t)count;
    return count ? 0 : error_set(err, ERROR_INVALID, "attribute \"coefficients\" is missing");
}

int ml_svm_read(const struct node *node, struct ml_svm *ret_svm, struct error *err) {
    *ret_svm = (struct ml_svm){0};
    if (read_kernel(node, ret_svm, err) < 0) {
        return -1;
    }
    return node->op->id == OP_ML_SVM_CLASSIFIER ? read_classes(node, ret_svm, err)
                                                : read_regressor(node, ret_svm, err);
}

int infer_ml_svm(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    struct ml_svm svm;
    int64_t rows, columns;
    if (ml_svm_read(node, &svm, err) < 0 || ml_rows(inputs[0], &rows, &columns, err) < 0) {
        return -1;
    }
    if (columns != svm.features) {
        return error_set(err, ERROR_INVALID, "its vectors have %lld columns, its input has %lld",
                         (long long)svm.features, (long long)columns);
    }
    struct shape scores = {2, {rows, svm.scores}};
    ml_set_outputs(node, svm.classes > 0, &scores, outputs);
    return 0;
}
