// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/nvjpeg_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct row {
    const char *name;
    size_t offset; /* in struct nvjpeg_library */
};
#define ROW(name, member)                                                                          \
    { name, offsetof(struct nvjpeg_library, member) }

static const struct row nvjpeg_rows[] = {
    ROW("nvjpegGetProperty", get_property),
    ROW("nvjpegCreateEx", create),
    ROW("nvjpegDestroy", destroy),
    ROW("nvjpegJpegStateCreate", state_create),
    ROW("nvjpegJpegStateDestroy", state_destroy),
    ROW("nvjpegGetImageInfo", get_info),
    ROW("nvjpegDecode", decode),
};
static const struct row driver_rows[] = {
    ROW("cuInit", driver_init),
    ROW("cuCtxGetDevice", current_device),
    ROW("cuDeviceGet", device_get),
    ROW("cuDevicePrimaryCtxRetain", context_retain),
    ROW("cuDevicePrimaryCtxRelease_v2", context_release),
    ROW("cuCtxPushCurrent_v2", context_push),
    ROW("cuCtxPopCurrent_v2", context_pop),
    ROW("cuStreamCreate", stream_new),
    ROW("cuStreamSynchronize", stream_wait),
    ROW("cuStreamDestroy_v2", stream_free),
    ROW("cuMemAlloc_v2", memory_new),
    ROW("cuMemFree_v2", memory_free),
    ROW("cuMemcpyDtoHAsync_v2", copy_down),
    ROW("cuGetErrorString", driver_error_string),
};

/* names: tried in order; NULL-terminated. hint: where to get the library. */
static int load(const char *const *names, const char *hint, const struct row *rows, size_t count,
                struct nvjpeg_library *library, struct error *err) {
    void *handle = NULL;
    const char *name = *names;
    for (; *names && !handle; names++) {
        handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        name = handle ? *names : name;
    }
    if (!handle) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot load %s: %s (%.160s)", name, hint,
                         dlerror());
    }
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, rows[i].name);
        if (!symbol) {
            dlclose(handle);
            return error_set(err, ERROR_UNAVAILABLE, "%s has no %s", name, rows[i].name);
        }
        memcpy((char *)library + rows[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

int nvjpeg_library_load(struct nvjpeg_library *ret_library, struct error *err) {
    static const char *const nvjpeg[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", NULL};
    static const char *const driver[] = {"libcuda.so.1", NULL};
    struct nvjpeg_library library = {0};
    if (load(nvjpeg, "the image windlass-agent-cuda has it", nvjpeg_rows, ARRAY_LEN(nvjpeg_rows),
             &library, err) < 0 ||
        load(driver, "it comes with NVIDIA's driver, for pods that ask for gpus", driver_rows,
             ARRAY_LEN(driver_rows), &library, err) < 0) {
        return -1;
    }
    *ret_library = library;
    return 0;
}
