// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/nccl_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct row {
    const char *name;
    size_t offset; /* in struct nccl_library */
    bool may_be_missing;
};
#define ROW(name, member)                                                                          \
    { name, offsetof(struct nccl_library, member), false }
#define NEW_ROW(name, member)                                                                      \
    { name, offsetof(struct nccl_library, member), true }

static const struct row nccl_rows[] = {
    ROW("ncclGetVersion", get_version),
    ROW("ncclGetUniqueId", get_id),
    ROW("ncclCommInitRank", init_rank),
    NEW_ROW("ncclCommInitRankConfig", init_rank_config),
    NEW_ROW("ncclCommFinalize", finalize),
    ROW("ncclAllReduce", all_reduce),
    ROW("ncclCommGetAsyncError", get_async_error),
    ROW("ncclCommAbort", abort),
    ROW("ncclCommDestroy", destroy),
    ROW("ncclGetErrorString", error_string),
    ROW("ncclGetLastError", last_error),
};
static const struct row driver_rows[] = {
    ROW("cuInit", driver_init),
    ROW("cuDeviceGet", device_get),
    ROW("cuDevicePrimaryCtxRetain", context_retain),
    ROW("cuDevicePrimaryCtxRelease_v2", context_release),
    ROW("cuCtxSetCurrent", context_set),
    ROW("cuStreamCreate", stream_new),
    ROW("cuStreamQuery", stream_query),
    ROW("cuStreamDestroy_v2", stream_free),
    ROW("cuGetErrorString", driver_error_string),
};

/* hint: where to get the library. */
static int load(const char *name, const char *hint, const struct row *rows, size_t count,
                struct nccl_library *library, struct error *err) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return error_set(err, ERROR_UNAVAILABLE, "comm \"nccl\": %s cannot be loaded: %s (%.160s)",
                         name, hint, dlerror());
    }
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, rows[i].name);
        if (!symbol && !rows[i].may_be_missing) {
            dlclose(handle);
            return error_set(err, ERROR_UNAVAILABLE, "comm \"nccl\": %s is too old: it has no %s",
                             name, rows[i].name);
        }
        memcpy((char *)library + rows[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

int nccl_library_load(struct nccl_library *ret_library, struct error *err) {
    struct nccl_library library = {0};
    if (load("libnccl.so.2", "the image windlass-trainer-cuda has it", nccl_rows,
             ARRAY_LEN(nccl_rows), &library, err) < 0 ||
        load("libcuda.so.1", "it comes with NVIDIA's driver, for pods that ask for gpus",
             driver_rows, ARRAY_LEN(driver_rows), &library, err) < 0) {
        return -1;
    }
    if (!library.finalize) {
        library.init_rank_config = NULL;
    }
    *ret_library = library;
    return 0;
}
