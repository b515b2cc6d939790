/* gpu.h: an open NVIDIA GPU, and the two layouts of values in its memory. Shared by the files of
 * this folder and of steps/. */
#pragma once

#include "agent/engine/device/cuda/channels_last.h"
#include "agent/engine/device/cuda/libraries.h"
#include "agent/engine/device/kernel.h"

/* Also the values of slot->layout. */
enum gpu_layout {
    GPU_ROW_MAJOR = 0,    /* of the slot's type */
    GPU_CHANNELS_LAST = 1 /* of the device's 16-bit type: kernels.h. Rank 2: [n, c] */
};

struct gpu {
    struct device base;
    int ordinal;                 /* among those that this process sees */
    enum kernels_float type;     /* of channels-last values; FLOAT32: there are none */
    bool has_tf32;               /* products and convolutions of float32 may round to 10 bits */
    cudaStream_t stream, beside; /* beside: for copies that are not ordered with the steps */
    cudaStream_t up, down;       /* for copies to and from the device while steps run */
    struct libraries libraries;
    cudnnHandle_t dnn;
    cublasLtHandle_t lt;
    cudnnActivationDescriptor_t relu, identity;
    struct packed *packed; /* packed_weights.h */
};

static inline struct gpu *gpu_of(const struct device *device) {
    return (struct gpu *)(uintptr_t)device;
}

/* These convert errors of the libraries. */
NODISCARD int gpu_check(int code, const char *what, struct error *err); /* a cudaError_t */
NODISCARD int gpu_check_dnn(struct gpu *gpu, cudnnStatus_t status, const char *what,
                            struct error *err);
NODISCARD int gpu_check_lt(struct gpu *gpu, cublasStatus_t status, const char *what,
                           struct error *err);
