// SPDX-License-Identifier: Apache-2.0
/* The declarations in nccl_library.h for NCCL and CUDA's driver match their headers, if installed;
 * and the messages where the libraries are missing. The rest: tests/e2e/train/test_nccl.sh. */
#include "agent/comm/nccl_library.h"
#include "tests/test.h"

#if __has_include(<nccl.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <nccl.h>

#define IS(function, type) __builtin_types_compatible_p(__typeof__(&function), type)

static void test_the_interface_is_as_declared(void) {
    CHECK_INT(NCCL_MAJOR, 2);
    CHECK_INT(sizeof(ncclUniqueId), sizeof(struct nccl_id));
    CHECK(sizeof(ncclResult_t) == sizeof(int) && sizeof(CUresult) == sizeof(int) &&
          sizeof(CUdevice) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int));
    CHECK_INT(ncclSuccess, NCCL_SUCCESS);
    CHECK_INT(ncclInProgress, NCCL_IN_PROGRESS);
    CHECK_INT(ncclFloat32, NCCL_FLOAT32);
    CHECK_INT(ncclSum, NCCL_SUM);
    CHECK_INT(CUDA_SUCCESS, DRIVER_SUCCESS);
    CHECK_INT(CUDA_ERROR_NOT_READY, DRIVER_NOT_READY);
    CHECK_INT(CU_STREAM_NON_BLOCKING, DRIVER_NON_BLOCKING);
    CHECK(IS(ncclGetVersion, ncclResult_t(*)(int *)));
    CHECK(IS(ncclGetUniqueId, ncclResult_t(*)(ncclUniqueId *)));
    CHECK(IS(ncclCommInitRank, ncclResult_t(*)(ncclComm_t *, int, ncclUniqueId, int)));
    CHECK(IS(ncclCommInitRankConfig,
             ncclResult_t(*)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *)));
    CHECK(IS(ncclCommFinalize, ncclResult_t(*)(ncclComm_t)));
    CHECK(sizeof(ncclConfig_t) >= sizeof(struct nccl_config) &&
          offsetof(ncclConfig_t, magic) == offsetof(struct nccl_config, magic) &&
          offsetof(ncclConfig_t, version) == offsetof(struct nccl_config, version) &&
          offsetof(ncclConfig_t, blocking) == offsetof(struct nccl_config, blocking));
    const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    CHECK_INT(config.magic, (unsigned)NCCL_MAGIC);
    CHECK_INT(NCCL_VERSION(2, 14, 0), NCCL_CONFIG_VERSION);
    CHECK(IS(ncclAllReduce, ncclResult_t(*)(const void *, void *, size_t, ncclDataType_t,
                                            ncclRedOp_t, ncclComm_t, cudaStream_t)));
    CHECK(IS(ncclCommGetAsyncError, ncclResult_t(*)(ncclComm_t, ncclResult_t *)));
    CHECK(IS(ncclCommAbort, ncclResult_t(*)(ncclComm_t)));
    CHECK(IS(ncclCommDestroy, ncclResult_t(*)(ncclComm_t)));
    CHECK(IS(ncclGetErrorString, const char *(*)(ncclResult_t)));
    CHECK(IS(ncclGetLastError, const char *(*)(ncclComm_t)));
    CHECK(IS(cuInit, CUresult(*)(unsigned)));
    CHECK(IS(cuDeviceGet, CUresult(*)(CUdevice *, int)));
    CHECK(IS(cuDevicePrimaryCtxRetain, CUresult(*)(CUcontext *, CUdevice)));
    CHECK(IS(cuDevicePrimaryCtxRelease_v2, CUresult(*)(CUdevice)));
    CHECK(IS(cuCtxSetCurrent, CUresult(*)(CUcontext)));
    CHECK(IS(cuStreamCreate, CUresult(*)(CUstream *, unsigned)));
    CHECK(IS(cuStreamQuery, CUresult(*)(CUstream)));
    CHECK(IS(cuStreamDestroy_v2, CUresult(*)(CUstream)));
    CHECK(IS(cuGetErrorString, CUresult(*)(CUresult, const char **)));
}
#else
static void test_the_interface_is_as_declared(void) {
    SKIP("nccl.h and cuda.h are not here");
}
#endif

static void test_a_library_that_is_not_there_is_named(void) {
    struct nccl_library library;
    struct error err = {0};
    if (nccl_library_load(&library, &err) == 0) {
        SKIP("NCCL and a driver are here");
    }
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK(strstr(err.text, "comm \"nccl\": libnccl.so.2 cannot be loaded: the image "
                           "windlass-trainer-cuda has it (") ||
          strstr(err.text, "comm \"nccl\": libcuda.so.1 cannot be loaded: it comes with NVIDIA's "
                           "driver, for pods that ask for gpus ("));
}

int main(void) {
    TEST(test_the_interface_is_as_declared);
    TEST(test_a_library_that_is_not_there_is_named);
    return TEST_END();
}
