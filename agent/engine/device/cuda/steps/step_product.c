// SPDX-License-Identifier: Apache-2.0
/* Gemm and MatMul, by cuBLASLt. The library is column-major: a row-major [r, c] is its [c, r], so y
 * = a b is computed as y' = b' a'. */
#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/device/cuda/kernels/kernels_elementwise.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/packed_weights.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/matmul.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t workspace_most = (size_t)32 << 20;
/* The size of the workspace; kernels that need more are not considered. */
static const uint32_t alignment = 64;

/* y[batch, m, n] = alpha * a b + beta * y, row-major; a and b may be transposed. */
struct product {
    struct gpu *gpu;
    int64_t m, n, k;
    int64_t a_row, b_row, y_row; /* distances between rows, in elements */
    bool a_turned, b_turned, is_channels_last;
    bool is_loose; /* matrices are only aligned to an element */
    float alpha, beta;
    const void *bias; /* [n] in the device's type, only for channels last; also with relu */
    bool has_relu;
    int64_t batches, a_step, b_step; /* distances between matrices, in elements */
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
};

struct gemm {
    struct product product; /* first, so that one release serves all */
    void *weights, *bias;   /* packed, channels last */
    struct fused fused;
    /* If batches are not evenly spaced: matrices are multiplied one after the other. */
    struct matmul matmul;
    bool is_uneven;
};

static void gemm_release(void *memory) {
    struct product *product = memory;
    struct libraries *libraries = &product->gpu->libraries;
    const cublasLtMatrixLayout_t layouts[] = {product->a, product->b, product->y};
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        if (layouts[i]) {
            libraries->lt.MatrixLayoutDestroy(layouts[i]);
        }
    }
    if (product->description) {
        libraries->lt.MatmulDescDestroy(product->description);
    }
    free(memory);
}

static cudaDataType_t number_type(const struct product *product) {
    return !product->is_channels_last               ? CUDA_R_32F
           : product->gpu->type == KERNELS_BFLOAT16 ? CUDA_R_16BF
                                                    : CUDA_R_16F;
}

/* rows x columns, row-major. */
static int describe_matrix(const struct product *product, cublasLtMatrixLayout_t *ret_layout,
                           const int64_t sizes[2], int64_t row, int64_t step) {
    struct libraries *libraries = &product->gpu->libraries;
    int batches = (int)product->batches;
    int status = (int)libraries->lt.MatrixLayoutCreate(ret_layout, number_type(product),
                                                       (uint64_t)sizes[1], (uint64_t)sizes[0], row);
    if (status == 0 && batches > 1) {
        status = (int)libraries->lt.MatrixLayoutSetAttribute(
            *ret_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
        status = status ? status
                        : (int)libraries->lt.MatrixLayoutSetAttribute(
                              *ret_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                              sizeof step);
    }
    return status;
}

static int set_operation(struct product *product) {
    struct libraries *libraries = &product->gpu->libraries;
    cublasOperation_t turned = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue =
        product->has_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    int status = 0;
    if (product->b_turned) {
        status = (int)libraries->lt.MatmulDescSetAttribute(
            product->description, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    }
    if (product->a_turned && status == 0) {
        status = (int)libraries->lt.MatmulDescSetAttribute(
            product->description, CUBLASLT_MATMUL_DESC_TRANSB, &turned, sizeof turned);
    }
    if (product->bias && status == 0) {
        status = (int)libraries->lt.MatmulDescSetAttribute(
            product->description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
        status = status ? status
                        : (int)libraries->lt.MatmulDescSetAttribute(
                              product->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                              &product->bias, sizeof product->bias);
    }
    return status;
}

static int find_algorithm(struct product *product, int *ret_count) {
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    struct libraries *libraries = &product->gpu->libraries;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found;
    uint32_t least =
        product->batches > 1 || product->is_loose ? (uint32_t)sizeof(float) : alignment;
    int status = (int)libraries->lt.MatmulPreferenceCreate(&preference);
    if (status) {
        return status;
    }
    status = (int)libraries->lt.MatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_most,
        sizeof workspace_most);
    for (size_t i = 0; i < ARRAY_LEN(alignments) && status == 0; i++) {
        status = (int)libraries->lt.MatmulPreferenceSetAttribute(preference, alignments[i], &least,
                                                                 sizeof least);
    }
    status = status ? status
                    : (int)libraries->lt.MatmulAlgoGetHeuristic(
                          product->gpu->lt, product->description, product->b, product->a,
                          product->y, product->y, preference, 1, &found, ret_count);
    libraries->lt.MatmulPreferenceDestroy(preference);
    if (status == 0 && *ret_count > 0) {
        product->algorithm = found.algo;
        product->workspace_bytes = found.workspaceSize;
    }
    return status;
}

static int product_prepare(struct preparation *prepare, struct product *product,
                           struct error *err) {
    struct libraries *libraries = &product->gpu->libraries;
    int64_t m = product->m, n = product->n, k = product->k;
    int count = 0;
    if (m < 1 || n < 1 || k < 1 || product->batches < 1 || product->batches > INT_MAX) {
        return preparation_refuse(err, "a product of empty matrices");
    }
    cublasComputeType_t compute = product->gpu->has_tf32 && !product->is_channels_last
                                      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F;
    int status = (int)libraries->lt.MatmulDescCreate(&product->description, compute, CUDA_R_32F);
    status = status ? status : set_operation(product);
    status = status ? status
                    : describe_matrix(product, &product->a,
                                      product->a_turned ? (int64_t[]){k, m} : (int64_t[]){m, k},
                                      product->a_row, product->a_step);
    status = status ? status
                    : describe_matrix(product, &product->b,
                                      product->b_turned ? (int64_t[]){n, k} : (int64_t[]){k, n},
                                      product->b_row, product->b_step);
    status = status ? status
                    : describe_matrix(product, &product->y, (int64_t[]){m, n}, product->y_row,
                                      m * product->y_row);
    status = status ? status : find_algorithm(product, &count);
    if (status == (int)CUBLAS_STATUS_NOT_SUPPORTED || (status == 0 && count == 0)) {
        return preparation_refuse(err, "a product that cuBLASLt does not support");
    }
    prepare->task->scratch_bytes = product->workspace_bytes;
    return gpu_check_lt(product->gpu, (cublasStatus_t)status, "a product's description", err);
}

static int product_run(const struct product *product, const struct task *task, const void *a,
                       const void *b, void *y, struct error *err) {
    struct gpu *gpu = product->gpu;
    cublasStatus_t status = gpu->libraries.lt.Matmul(
        gpu->lt, product->description, &product->alpha, b, product->b, a, product->a,
        &product->beta, y, product->y, y, product->y, &product->algorithm, task->scratch,
        product->workspace_bytes, gpu->stream);
    return gpu_check_lt(gpu, status, "a product", err);
}

/* ---- Gemm ----------------------------------------------------------------------------------- */

static int gemm_channels_last_run(struct gpu *gpu UNUSED, const struct task *task,
                                  struct error *err) {
    const struct gemm *gemm = task->params;
    return product_run(&gemm->product, task, task->inputs[0].data, gemm->weights,
                       task->outputs[0].data, err);
}

/* First copies c, broadcast, to y. */
static int gemm_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct gemm *gemm = task->params;
    const struct task_operand *y = &task->outputs[0];
    int result = cudaSuccess;
    if (gemm->product.beta != 0) {
        struct kernels_strided strided = {.size = sizeof(float), .rank = 2};
        memcpy(strided.dims, y->shape.dims, sizeof strided.dims);
        elementwise_broadcast_strides(&task->inputs[2].shape, &y->shape, strided.x_strides);
        task_strides(&y->shape, strided.y_strides);
        result = kernels_run_strided(&strided, task->inputs[2].data, y->data, gpu->stream);
    }
    if (gpu_check(result, "a kernel", err) < 0 ||
        product_run(&gemm->product, task, task->inputs[0].data, task->inputs[1].data, y->data,
                    err) < 0) {
        return -1;
    }
    if (!gemm->fused.has_bounds) {
        return 0;
    }
    struct kernels_unary bounds = {.kind = KERNELS_CLIP,
                                   .type = KERNELS_FLOAT32,
                                   .a = gemm->fused.low,
                                   .b = gemm->fused.high,
                                   .count = shape_count(&y->shape)};
    return gpu_check(kernels_run_unary(&bounds, y->data, y->data, gpu->stream), "a kernel", err);
}

/* Prepares the usual layer with constant weights and bias; 1: this is another case. */
static int gemm_channels_last(struct preparation *prepare, struct gemm *gemm, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    struct product *product = &gemm->product;
    const float *weights = preparation_weights(prepare->schedule, node, 1);
    const float *bias = preparation_weights(prepare->schedule, node, 2);
    bool has_bias = node->input_count > 2 && node->inputs[2] >= 0;
    bool is_row = has_bias && shape_count(&task->inputs[2].shape) == product->n &&
                  task->inputs[2].shape.dims[task->inputs[2].shape.rank - 1] == product->n;
    bool is_relu = !gemm->fused.has_bounds || (gemm->fused.low == 0 && isinf(gemm->fused.high));
    if (prepare->gpu->type == KERNELS_FLOAT32 || node_integer(node, PARAM_IS_WHOLE, 0) != 0 ||
        !weights || (has_bias && (!bias || !is_row)) || product->a_turned ||
        (has_bias && product->beta != 1) || !is_relu ||
        !channels_last_fits(task->inputs[0].type, &task->inputs[0].shape) ||
        !channels_last_fits(task->outputs[0].type, &task->outputs[0].shape)) {
        return 1;
    }
    struct packing pack = {.weights = weights,
                           .bias = bias,
                           .m = product->n,
                           .c = product->k,
                           .taps = 1,
                           .is_channels_last = true,
                           .is_turned = !product->b_turned};
    if (packed_weights_get(prepare->gpu, &pack, &gemm->weights, &gemm->bias, err) < 0) {
        return -1;
    }
    product->is_channels_last = true;
    product->n = product->y_row = channels_last_pitch(product->n);
    product->k = product->a_row = product->b_row = channels_last_pitch(product->k);
    product->b_turned = true;
    product->beta = 0;
    product->has_relu = gemm->fused.has_bounds;
    product->bias = (const float *)gemm->bias + product->n; /* the bias in the device's type */
    task->inputs[0].layout = task->outputs[0].layout = GPU_CHANNELS_LAST;
    for (int i = 1; i < node->input_count; i++) {
        prepare->step->inputs[i] = -1;
        task->inputs[i].is_absent = true;
    }
    task->run = gemm_channels_last_run;
    return product_prepare(prepare, product, err);
}

int gemm_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    const struct shape *a = &task->inputs[0].shape, *y = &task->outputs[0].shape;
    struct gemm *gemm = task->params = x_calloc(1, sizeof *gemm);
    struct product *product = &gemm->product;
    task->release = gemm_release;
    gemm->fused = fusion_of(prepare->step);
    *product = (struct product){.gpu = prepare->gpu,
                                .m = y->dims[0],
                                .n = y->dims[1],
                                .a_turned = node_integer(node, "transA", 0) != 0,
                                .b_turned = node_integer(node, "transB", 0) != 0,
                                .alpha = node_number(node, "alpha", 1),
                                .beta = node_number(node, "beta", 1),
                                .batches = 1};
    product->k = a->dims[!product->a_turned];
    product->a_row = a->dims[1];
    product->b_row = task->inputs[1].shape.dims[1];
    product->y_row = product->n;
    int result = gemm_channels_last(prepare, gemm, err);
    if (result <= 0) {
        return result;
    }
    product->beta = task_has(task, 2) ? product->beta : 0;
    task->run = gemm_run;
    return product_prepare(prepare, product, err);
}

/* ---- MatMul --------------------------------------------------------------------------------- */

static int matmul_run(struct gpu *gpu UNUSED, const struct task *task, struct error *err) {
    const struct gemm *gemm = task->params;
    const struct matmul *matmul = &gemm->matmul;
    int64_t count = gemm->is_uneven ? shape_count(&matmul->batch) : 1;
    for (int64_t batch = 0; batch < count; batch++) {
        int64_t rest = batch, a_at = 0, b_at = 0;
        for (int i = matmul->batch.rank - 1; i >= 0; i--) {
            int64_t index = rest % matmul->batch.dims[i];
            rest /= matmul->batch.dims[i];
            a_at += index * matmul->a_strides[i];
            b_at += index * matmul->b_strides[i];
        }
        const float *a = task->inputs[0].data, *b = task->inputs[1].data;
        float *y = task->outputs[0].data;
        if (product_run(&gemm->product, task, a + a_at * matmul->m * matmul->k,
                        b + b_at * matmul->k * matmul->n, y + batch * matmul->m * matmul->n,
                        err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether the matrices of all batches are evenly spaced or the same: *ret_step is their
 * distance. */
static bool is_even_row(const struct matmul *matmul, const int64_t *strides, int64_t size,
                        int64_t *ret_step) {
    bool is_row = true, is_one = true;
    int64_t stride = 1;
    for (int i = matmul->batch.rank - 1; i >= 0; i--) {
        is_row = is_row && (matmul->batch.dims[i] == 1 || strides[i] == stride);
        is_one = is_one && (matmul->batch.dims[i] == 1 || strides[i] == 0);
        stride *= matmul->batch.dims[i];
    }
    *ret_step = is_one ? 0 : size;
    return is_row || is_one;
}

int matmul_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct gemm *gemm = task->params = x_calloc(1, sizeof *gemm);
    struct product *product = &gemm->product;
    struct matmul *matmul = &gemm->matmul;
    task->release = gemm_release;
    product->gpu = prepare->gpu;
    gemm->fused = fusion_of(prepare->step);
    if (matmul_params(&task->inputs[0].shape, &task->inputs[1].shape, matmul, err) < 0) {
        return -1;
    }
    *product = (struct product){.gpu = prepare->gpu,
                                .m = matmul->m,
                                .n = matmul->n,
                                .k = matmul->k,
                                .a_row = matmul->k,
                                .b_row = matmul->n,
                                .y_row = matmul->n,
                                .alpha = 1,
                                .batches = shape_count(&matmul->batch)};
    bool is_plain = matmul->batch.rank == 0 && task->inputs[0].shape.rank == 2 &&
                    task->inputs[1].shape.rank == 2;
    int result = is_plain ? gemm_channels_last(prepare, gemm, err) : 1;
    if (result <= 0) {
        return result;
    }
    gemm->is_uneven =
        !is_even_row(matmul, matmul->a_strides, matmul->m * matmul->k, &product->a_step) ||
        !is_even_row(matmul, matmul->b_strides, matmul->k * matmul->n, &product->b_step);
    product->batches = gemm->is_uneven ? 1 : product->batches;
    product->is_loose = gemm->is_uneven;
    task->run = matmul_run;
    return product_prepare(prepare, product, err);
}

/* ---- gradients of MatMul -------------------------------------------------------------------- */

static int matmul_gradient_run(struct gpu *gpu UNUSED, const struct task *task, struct error *err) {
    const struct gemm *gemm = task->params;
    bool is_b = node_integer(task->node, "side", 0) != 0;
    const void *dy = task->inputs[0].data;
    return product_run(&gemm->product, task, is_b ? task->inputs[1].data : dy,
                       is_b ? dy : task->inputs[2].data, task->outputs[0].data, err);
}

/* (dy, a, b): da = dy b', or db = a' dy. Sums over batches are supported only for weights b that
 * all batches of a share: their gradient is one long product. */
int matmul_gradient_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const bool is_b = node_integer(task->node, "side", 0) != 0;
    struct gemm *gemm = task->params = x_calloc(1, sizeof *gemm);
    struct product *product = &gemm->product;
    struct matmul mm;
    int64_t a_step, b_step;
    task->release = gemm_release;
    product->gpu = prepare->gpu;
    if (matmul_params(&task->inputs[1].shape, &task->inputs[2].shape, &mm, err) < 0) {
        return -1;
    }
    int64_t batches = shape_count(&mm.batch);
    bool is_even = is_even_row(&mm, mm.a_strides, mm.m * mm.k, &a_step) &&
                   is_even_row(&mm, mm.b_strides, mm.k * mm.n, &b_step);
    bool is_summed = is_b && batches > 1 && is_even && b_step == 0 && a_step != 0;
    if (!is_even || (batches > 1 && !is_summed && (is_b ? b_step : a_step) == 0)) {
        return preparation_refuse(err, "a product's gradient that is summed over batches");
    }
    if (is_summed) {
        mm.m *= batches;
        batches = 1;
    }
    int64_t dy_step = mm.m * mm.n;
    *product = (struct product){.gpu = prepare->gpu,
                                .m = is_b ? mm.k : mm.m,
                                .n = is_b ? mm.n : mm.k,
                                .k = is_b ? mm.m : mm.n,
                                .a_row = is_b ? mm.k : mm.n,
                                .b_row = mm.n,
                                .y_row = is_b ? mm.n : mm.k,
                                .a_turned = is_b,
                                .b_turned = !is_b,
                                .alpha = 1,
                                .batches = batches,
                                .a_step = is_b ? a_step : dy_step,
                                .b_step = is_b ? dy_step : b_step};
    task->run = matmul_gradient_run;
    return product_prepare(prepare, product, err);
}
