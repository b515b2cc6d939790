/* cuda_runtime.h: stands in for CUDA's header where the kernels of agent/engine/device/cuda are
 * compiled for the processor, by g++, with calls for every access to memory (watch.h). A kernel's
 * threads run one after the other, each until it ends or comes to a barrier, in another order at
 * each launch. A launch on a stream that is being captured is kept for the graph. */
#pragma once

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>

#include <functional>
#include <tuple>

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)

struct emulated_index {
    unsigned x, y, z;
};
extern struct emulated_index threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
int atomicMax(int *at, int value);
/* Runs it now, or keeps it while the stream is captured. */
cudaError_t emulated_launch(const cudaLaunchConfig_t *config, std::function<void()> kernel);

template <class... Parameters, class... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Parameters...),
                                             Arguments &&...arguments) {
    std::tuple<Parameters...> kept(arguments...);
    return emulated_launch(config, [kernel, kept] { std::apply(kernel, kept); });
}
