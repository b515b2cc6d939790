// SPDX-License-Identifier: Apache-2.0
/* The operator Det: determinants by Gaussian elimination. */
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>
#include <stdlib.h>

static void swap_rows(double *matrix, int64_t n, int64_t a, int64_t b) {
    for (int64_t i = 0; i < n; i++) {
        double kept = matrix[a * n + i];
        matrix[a * n + i] = matrix[b * n + i];
        matrix[b * n + i] = kept;
    }
}

/* Gaussian elimination; the pivot is the largest element of each column. */
static double determinant(double *matrix, int64_t n) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t most = k;
        for (int64_t row = k + 1; row < n; row++) {
            most = fabs(matrix[row * n + k]) > fabs(matrix[most * n + k]) ? row : most;
        }
        if (most != k) {
            swap_rows(matrix, n, k, most);
            product = -product;
        }
        double first = matrix[k * n + k];
        product *= first;
        for (int64_t row = k + 1; row < n && first != 0; row++) {
            double by = matrix[row * n + k] / first;
            for (int64_t i = k; i < n; i++) {
                matrix[row * n + i] -= by * matrix[k * n + i];
            }
        }
    }
    return product;
}

static int det_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    int64_t n = x->shape.rank ? x->shape.dims[x->shape.rank - 1] : 0;
    int64_t count = shape_count(&call->outputs[0]->shape);
    struct tensor matrix;
    if (tensor_init(&matrix, TENSOR_FLOAT64, &(struct shape){2, {n, n}}, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < n * n; k++) {
            ((double *)matrix.data)[k] = tensor_number(x, i * n * n + k);
        }
        tensor_put_number(call->outputs[0], i, determinant(matrix.data, n));
    }
    tensor_release(&matrix);
    return 0;
}
const struct kernel reference_det = {"reference det", det_run};
