// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/gpu.h"

int gpu_check(int code, const char *what, struct error *err) {
    enum error_kind kind = code == cudaErrorMemoryAllocation ? ERROR_EXHAUSTED : ERROR_UNAVAILABLE;
    return code == cudaSuccess ? 0
                               : error_set(err, kind, "device \"cuda\": %s: %s", what,
                                           cudaGetErrorString((cudaError_t)code));
}

int gpu_check_dnn(struct gpu *gpu, cudnnStatus_t status, const char *what, struct error *err) {
    bool is_full = status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                   status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    enum error_kind kind = is_full ? ERROR_EXHAUSTED
                           : CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED
                               ? ERROR_UNSUPPORTED
                               : ERROR_UNAVAILABLE;
    return status == CUDNN_STATUS_SUCCESS
               ? 0
               : error_set(err, kind, "device \"cuda\": %s: cuDNN says %s", what,
                           gpu->libraries.dnn.GetErrorString(status));
}

int gpu_check_lt(struct gpu *gpu, cublasStatus_t status, const char *what, struct error *err) {
    enum error_kind kind =
        status == CUBLAS_STATUS_ALLOC_FAILED ? ERROR_EXHAUSTED : ERROR_UNAVAILABLE;
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : error_set(err, kind, "device \"cuda\": %s: cuBLASLt says %s", what,
                           gpu->libraries.lt.GetStatusString(status));
}
