// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/driver.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

/* CUDA reports "insufficient driver" also without a driver. */
static int refuse_driver(struct error *err) {
    int version = 0;
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
        return error_set(
            err, ERROR_UNAVAILABLE,
            "device \"cuda\": NVIDIA's driver is missing (libcuda.so.1): pods that ask "
            "for GPUs get it from their node's container toolkit, a machine of your "
            "own from its installation; `nvidia-smi` shows that it is there");
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "device \"cuda\": NVIDIA's driver is for CUDA up to %d.%d, this program is of "
                     "CUDA %d.%d: a newer driver is needed (`nvidia-smi` shows which there is)",
                     version / 1000, version % 1000 / 10, CUDART_VERSION / 1000,
                     CUDART_VERSION % 1000 / 10);
}

static int refuse_count(struct error *err) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return error_set(err, ERROR_UNAVAILABLE,
                     "device \"cuda\": there is a driver, but it finds no GPU%s%.100s%s; "
                     "`nvidia-smi -L` lists them",
                     visible ? " (CUDA_VISIBLE_DEVICES is \"" : "", visible ? visible : "",
                     visible ? "\")" : "");
}

int driver_count(int *ret_count, struct error *err) {
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver) {
        return refuse_driver(err);
    }
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
        return refuse_count(err);
    }
    if (code != cudaSuccess) {
        return error_set(err, ERROR_UNAVAILABLE, "device \"cuda\": no GPU can be used: %s",
                         cudaGetErrorString(code));
    }
    *ret_count = count;
    return 0;
}
