// SPDX-License-Identifier: Apache-2.0
/* Stands in for libcublasLt.so.13: products as their descriptors say, columns first. What the manual
 * forbids is a fault. */
#include "tests/cuda/runtime.h"

#include <cublasLt.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct description {
    cublasComputeType_t compute;
    cublasOperation_t a, b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
struct layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t lead;
    int batches;
    int64_t step;
};
struct preference {
    size_t workspace;
    uint32_t alignment[4];
};

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    *handle = (cublasLtHandle_t) new int(0);
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete (int *)handle;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT const char *cublasLtGetStatusString(cublasStatus_t) {
    return "an error";
}
EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *to,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
    *to = (cublasLtMatmulDesc_t) new description{compute, CUBLAS_OP_N, CUBLAS_OP_N,
                                                 CUBLASLT_EPILOGUE_DEFAULT, NULL};
    return scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t of) {
    delete (description *)of;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of,
                                                     cublasLtMatmulDescAttributes_t attribute,
                                                     const void *value, size_t size) {
    description *d = (description *)of;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        memcpy(&d->a, value, sizeof d->a);
        return size == sizeof d->a ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    case CUBLASLT_MATMUL_DESC_TRANSB:
        memcpy(&d->b, value, sizeof d->b);
        return size == sizeof d->b ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        memcpy(&d->epilogue, value, sizeof d->epilogue);
        return size == sizeof d->epilogue ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        memcpy(&d->bias, value, sizeof d->bias);
        return size == sizeof d->bias ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}
EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *to, cudaDataType_t type,
                                                 uint64_t rows, uint64_t columns, int64_t lead) {
    *to = (cublasLtMatrixLayout_t) new layout{type, rows, columns, lead, 1, 0};
    return lead >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t of) {
    delete (layout *)of;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t of,
                                                       cublasLtMatrixLayoutAttribute_t attribute,
                                                       const void *value, size_t size) {
    layout *l = (layout *)of;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof l->batches) {
        memcpy(&l->batches, value, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof l->step) {
        memcpy(&l->step, value, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *to) {
    *to = (cublasLtMatmulPreference_t) new preference{0, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t of) {
    delete (preference *)of;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
                                     cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *value, size_t size) {
    preference *p = (preference *)of;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == sizeof p->workspace) {
        memcpy(&p->workspace, value, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    int at = (int)attribute - (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (at < 0 || at > 3 || size != sizeof p->alignment[0]) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(&p->alignment[at], value, size);
    uint32_t bytes = p->alignment[at];
    return bytes && (bytes & (bytes - 1)) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
/* Says which product an algorithm was chosen for. */
static uint64_t digest_of(const description &d, const layout &a, const layout &b, const layout &y) {
    const int64_t parts[] = {d.compute, d.a, d.b, d.epilogue, d.bias != NULL};
    uint64_t digest = 14695981039346656037u;
    for (int64_t part : parts) {
        digest = (digest ^ (uint64_t)part) * 1099511628211u;
    }
    for (const layout *l : {&a, &b, &y}) {
        const int64_t sizes[] = {l->type, (int64_t)l->rows, (int64_t)l->columns,
                                 l->lead, l->batches,       l->step};
        for (int64_t size : sizes) {
            digest = (digest ^ (uint64_t)size) * 1099511628211u;
        }
    }
    return digest;
}

static const size_t workspace_bytes = 500;

/* The algorithm keeps what was promised: operands aligned so, and this much workspace. The first of
 * several has no valid fields, as its state says. */
EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t of, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t y, cublasLtMatmulPreference_t preferred,
    int requested, cublasLtMatmulHeuristicResult_t *found, int *count) {
    const preference *p = (const preference *)preferred;
    const description *d = (const description *)of;
    *count = 0;
    if (requested < 1) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (p->workspace < workspace_bytes) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (requested > 1) {
        memset(&found[*count], 0xff, sizeof *found);
        found[(*count)++].state = CUBLAS_STATUS_NOT_SUPPORTED;
    }
    cublasLtMatmulHeuristicResult_t *good = &found[(*count)++];
    memset(good, 0, sizeof *good);
    good->algo.data[0] = p->alignment[0];
    good->algo.data[1] = digest_of(*d, *(layout *)a, *(layout *)b, *(layout *)y);
    good->workspaceSize = workspace_bytes;
    return CUBLAS_STATUS_SUCCESS;
}

static double load(cudaDataType_t type, const void *data, int64_t i) {
    return type == CUDA_R_32F   ? (double)((const float *)data)[i]
           : type == CUDA_R_16F ? (double)__half2float(((const __half *)data)[i])
                                : (double)__bfloat162float(((const __nv_bfloat16 *)data)[i]);
}
static void store(cudaDataType_t type, void *data, int64_t i, double value) {
    if (type == CUDA_R_32F) {
        ((float *)data)[i] = (float)value;
    } else if (type == CUDA_R_16F) {
        ((__half *)data)[i] = __float2half_rn((float)value);
    } else {
        ((__nv_bfloat16 *)data)[i] = __float2bfloat16_rn((float)value);
    }
}

static void multiply(const description &d, float alpha, const void *a, const layout &la,
                     const void *b, const layout &lb, float beta, void *y, const layout &ly) {
    uint64_t inner = d.a == CUBLAS_OP_N ? la.columns : la.rows;
    bool has_relu = d.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    bool has_bias = has_relu || d.epilogue == CUBLASLT_EPILOGUE_BIAS;
    for (int batch = 0; batch < ly.batches; batch++) {
        for (uint64_t column = 0; column < ly.columns; column++) {
            for (uint64_t row = 0; row < ly.rows; row++) {
                double sum = 0;
                for (uint64_t k = 0; k < inner; k++) {
                    uint64_t from_a = d.a == CUBLAS_OP_N ? k * (uint64_t)la.lead + row
                                                         : row * (uint64_t)la.lead + k;
                    uint64_t from_b = d.b == CUBLAS_OP_N ? column * (uint64_t)lb.lead + k
                                                         : k * (uint64_t)lb.lead + column;
                    sum += load(la.type, a, (int64_t)from_a + batch * la.step) *
                           load(lb.type, b, (int64_t)from_b + batch * lb.step);
                }
                int64_t at = (int64_t)(column * (uint64_t)ly.lead + row) + batch * ly.step;
                double value = alpha * sum + (beta != 0 ? beta * load(ly.type, y, at) : 0);
                value += has_bias ? load(ly.type, d.bias, (int64_t)row) : 0;
                store(ly.type, y, at, has_relu && value < 0 ? 0 : value);
            }
        }
    }
}

static size_t bytes_of(const layout &l) {
    uint64_t last = (uint64_t)(l.batches - 1) * (uint64_t)l.step + (l.columns - 1) * (uint64_t)l.lead;
    return (last + l.rows) * (l.type == CUDA_R_32F ? 4 : 2);
}

static bool overlaps(const void *a, size_t a_size, const void *b, size_t b_size) {
    return (const char *)a < (const char *)b + b_size && (const char *)b < (const char *)a + a_size;
}

/* Memory that the manual forbids. */
static bool has_fault(const char *what, const void *at, size_t size, uint64_t alignment) {
    if (emulated_room(at) < size) {
        emulated_refuse("cublasLtMatmul: %s is not %zu bytes of the device", what, size);
        return true;
    }
    if ((uintptr_t)at % alignment) {
        emulated_refuse("cublasLtMatmul: %s is not aligned to %d bytes", what, (int)alignment);
        return true;
    }
    return false;
}

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t of, const void *alpha,
                                     const void *a, cublasLtMatrixLayout_t of_a, const void *b,
                                     cublasLtMatrixLayout_t of_b, const void *beta, const void *c,
                                     cublasLtMatrixLayout_t of_c, void *y,
                                     cublasLtMatrixLayout_t of_y,
                                     const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                     size_t size, cudaStream_t stream) {
    description d = *(description *)of;
    layout la = *(layout *)of_a, lb = *(layout *)of_b, ly = *(layout *)of_y;
    uint64_t inner_a = d.a == CUBLAS_OP_N ? la.columns : la.rows;
    uint64_t inner_b = d.b == CUBLAS_OP_N ? lb.rows : lb.columns;
    uint64_t rows = d.a == CUBLAS_OP_N ? la.rows : la.columns;
    uint64_t columns = d.b == CUBLAS_OP_N ? lb.columns : lb.rows;
    uint64_t promised = algorithm->data[0];
    if (inner_a != inner_b || rows != ly.rows || columns != ly.columns || c != y || of_c != of_y ||
        la.type != ly.type || lb.type != ly.type || la.batches != ly.batches ||
        lb.batches != ly.batches ||
        (d.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && ly.type != CUDA_R_32F)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (algorithm->data[1] != digest_of(d, la, lb, ly) || size < workspace_bytes) {
        emulated_refuse("cublasLtMatmul: an algorithm that was chosen for another product");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    size_t a_size = bytes_of(la), b_size = bytes_of(lb), y_size = bytes_of(ly);
    size_t bias_size = d.bias ? (size_t)rows * (ly.type == CUDA_R_32F ? 4 : 2) : 0;
    if (has_fault("a", a, a_size, promised) || has_fault("b", b, b_size, promised) ||
        has_fault("d", y, y_size, promised) || has_fault("the workspace", workspace, size, 256) ||
        (d.bias && has_fault("the bias", d.bias, bias_size, 2))) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (overlaps(y, y_size, a, a_size) || overlaps(y, y_size, b, b_size) ||
        overlaps(workspace, size, y, y_size) || overlaps(workspace, size, a, a_size) ||
        overlaps(workspace, size, b, b_size)) {
        emulated_refuse("cublasLtMatmul: operands overlap");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    float scale = *(const float *)alpha, keep = *(const float *)beta;
    emulated_note("product %s %llux%llu inner %llu batches %d%s%s%s",
                  ly.type == CUDA_R_32F   ? "float"
                  : ly.type == CUDA_R_16F ? "half"
                                          : "bfloat16",
                  (unsigned long long)columns, (unsigned long long)rows,
                  (unsigned long long)inner_a, ly.batches,
                  d.a == CUBLAS_OP_T ? " b turned" : "", d.b == CUBLAS_OP_T ? " a turned" : "",
                  d.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ? " bias relu"
                  : d.epilogue == CUBLASLT_EPILOGUE_BIAS    ? " bias"
                                                            : "");
    emulated_enqueue(stream, [=] {
        emulated_touch(workspace, size, true);
        emulated_touch(a, a_size, false);
        emulated_touch(b, b_size, false);
        emulated_touch(d.bias, bias_size, false);
        emulated_touch(y, keep != 0 ? y_size : 0, false);
        emulated_touch(y, y_size, true);
        memset(workspace, 0xff, size);
        multiply(d, scale, a, la, b, lb, keep, y, ly);
    });
    return CUBLAS_STATUS_SUCCESS;
}
