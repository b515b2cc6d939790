// SPDX-License-Identifier: Apache-2.0
/* Stands in for libnvjpeg.so.13 and libcuda.so.1 where there is no GPU: the functions that
 * agent/data/image/jpeg_hardware.c calls, with the semantics of NVIDIA's documentation,
 * over libjpeg-turbo. Addresses "on the GPU" are invalid in this process, a copy is done in the
 * wait for its stream, and every call needs a context. Its bytes differ by up to 2 from the
 * processor's, and its chroma is repeated unless the flag for interpolation is set. Built twice,
 * once under each name, and once as FAKE_OLD: without nvjpegDecode.
 *
 * FAKE_NVJPEG injects a fault or changes the behaviour: exact (the processor's bytes), nogpu
 * (cuInit fails), create (creating a handle fails), plain (no flag is known), size (the header is
 * read wrongly), swap (red is blue), copy (a copy fails), full (no memory), status=N (nvjpegDecode
 * returns N, from its second call on). */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#define EXPORT __attribute__((visibility("default")))
static const uint64_t far = UINT64_C(1) << 60; /* where the GPU's memory begins */

struct image {
    unsigned char *channel[4];
    size_t pitch[4];
};
struct stream {
    void *to;
    const void *from;
    size_t size;
};
struct decoder {
    unsigned flags;
    int calls;
};

static bool is_told(const char *what) {
    const char *told = getenv("FAKE_NVJPEG");
    return told && strcmp(told, what) == 0;
}

/* ---- libcuda -------------------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxPushCurrent_v2(void *context);
EXPORT int cuCtxPopCurrent_v2(void **context);
EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t size);
EXPORT int cuMemFree_v2(uint64_t address);
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream);
EXPORT int cuGetErrorString(int code, const char **text);

static _Thread_local int depth; /* of pushed contexts */
static int retained;

int cuInit(unsigned flags) {
    return flags != 0 ? 1 : is_told("nogpu") ? 100 : 0;
}
int cuCtxGetDevice(int *device) {
    *device = 0;
    return depth > 0 ? 0 : 201;
}
int cuDeviceGet(int *device, int number) {
    *device = number;
    return number == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &retained;
    retained++;
    return device;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    return retained-- > 0 ? device : 201;
}
int cuCtxPushCurrent_v2(void *context) {
    depth += context == &retained;
    return context == &retained && retained > 0 ? 0 : 201;
}
int cuCtxPopCurrent_v2(void **context) {
    *context = &retained;
    return depth-- > 0 ? 0 : 201;
}
int cuStreamCreate(void **stream, unsigned flags) {
    *stream = calloc(1, sizeof(struct stream));
    return depth > 0 && flags <= 1 ? 0 : 201;
}
int cuStreamSynchronize(void *stream) {
    struct stream *it = stream;
    if (it->size > 0) {
        memcpy(it->to, it->from, it->size);
    }
    it->size = 0;
    return depth > 0 ? 0 : 201;
}
int cuStreamDestroy_v2(void *stream) {
    free(stream);
    return depth > 0 ? 0 : 201;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
    if (depth <= 0 || is_told("full")) {
        return depth <= 0 ? 201 : 2;
    }
    void *here = malloc(size);
    memset(here, 0xA5, size);
    *address = (uint64_t)(uintptr_t)here + far;
    return 0;
}
int cuMemFree_v2(uint64_t address) {
    free((void *)(uintptr_t)(address - far));
    return depth > 0 ? 0 : 201;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
    *(struct stream *)stream = (struct stream){to, (void *)(uintptr_t)(from - far), size};
    return depth <= 0 ? 201 : is_told("copy") ? 700 : 0;
}
int cuGetErrorString(int code, const char **text) {
    *text = code == 100   ? "no CUDA-capable device is detected"
            : code == 700 ? "an illegal memory access was encountered"
                          : "an error of CUDA's";
    return 0;
}

/* ---- libnvjpeg ------------------------------------------------------------------------------ */

EXPORT int nvjpegGetProperty(int which, int *value);
EXPORT int nvjpegCreateEx(int backend, void *allocator, void *pinned, unsigned flags,
                          void **handle);
EXPORT int nvjpegDestroy(void *handle);
EXPORT int nvjpegJpegStateCreate(void *handle, void **state);
EXPORT int nvjpegJpegStateDestroy(void *state);
EXPORT int nvjpegGetImageInfo(void *handle, const unsigned char *bytes, size_t size,
                              int *components, int *sampling, int *widths, int *heights);

/* Memory of the other library, which is built from this file, too. */
static bool has_context(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get)(int *) = NULL;
    void *symbol = driver ? dlsym(driver, "cuCtxGetDevice") : NULL;
    int device;
    memcpy(&get, &symbol, sizeof get);
    return get && get(&device) == 0;
}

int nvjpegGetProperty(int which, int *value) {
    *value = which == 0 ? 13 : which == 1 ? 0 : 1;
    return 0;
}
int nvjpegCreateEx(int backend, void *allocator, void *pinned, unsigned flags, void **handle) {
    if (!has_context() || is_told("create")) {
        return 1;
    }
    if (backend != 0 || allocator || pinned || (is_told("plain") && flags != 0)) {
        return 2;
    }
    struct decoder *decoder = calloc(1, sizeof *decoder);
    decoder->flags = flags;
    *handle = decoder;
    return 0;
}
int nvjpegDestroy(void *handle) {
    free(handle);
    return has_context() ? 0 : 6;
}
int nvjpegJpegStateCreate(void *handle, void **state) {
    *state = malloc(1);
    return handle ? 0 : 2;
}
int nvjpegJpegStateDestroy(void *state) {
    free(state);
    return 0;
}

static const int samplings[] = {[TJSAMP_444] = 0, [TJSAMP_422] = 1, [TJSAMP_420] = 2,
                                [TJSAMP_440] = 3, [TJSAMP_411] = 4, [TJSAMP_GRAY] = 6};

static int read_header(const unsigned char *bytes, size_t size, int *sampling, int *colors,
                       int *width, int *height) {
    tjhandle turbo = tjInitDecompress();
    int result = tjDecompressHeader3(turbo, bytes, size, width, height, sampling, colors);
    tjDestroy(turbo);
    return result;
}

int nvjpegGetImageInfo(void *handle, const unsigned char *bytes, size_t size, int *components,
                       int *sampling, int *widths, int *heights) {
    int found = 0, colors = 0;
    if (!handle || read_header(bytes, size, &found, &colors, widths, heights) < 0) {
        return handle ? 3 : 2;
    }
    *components = colors == TJCS_GRAY ? 1 : colors == TJCS_CMYK || colors == TJCS_YCCK ? 4 : 3;
    *sampling = found >= 0 ? samplings[found] : -1;
    widths[0] += is_told("size");
    return 0;
}

#ifndef FAKE_OLD
EXPORT int nvjpegDecode(void *handle, void *state, const unsigned char *bytes, size_t size,
                        int format, struct image *to, void *stream);

int nvjpegDecode(void *handle, void *state, const unsigned char *bytes, size_t size, int format,
                 struct image *to, void *stream) {
    struct decoder *decoder = handle;
    const char *told = getenv("FAKE_NVJPEG");
    int status = 0, width = 0, height = 0, sampling = 0, colors = 0;
    if (!handle || !state || !stream || !has_context()) {
        return 6;
    }
    if (decoder->calls++ > 0 && told && sscanf(told, "status=%d", &status) == 1) {
        return status;
    }
    if (read_header(bytes, size, &sampling, &colors, &width, &height) < 0) {
        return 3;
    }
    if (colors == TJCS_CMYK || colors == TJCS_YCCK || (format != 2 && format != 5)) {
        return 4;
    }
    int order = format == 2 ? TJPF_GRAY : is_told("swap") ? TJPF_BGR : TJPF_RGB;
    int flags = TJFLAG_ACCURATEDCT | (decoder->flags & 32 ? 0 : TJFLAG_FASTUPSAMPLE);
    tjhandle turbo = tjInitDecompress();
    /* A truncated file is decoded as far as possible: the real library may do better. */
    unsigned char *pixels = to->channel[0] - far;
    (void)tjDecompress2(turbo, bytes, size, pixels, width, (int)to->pitch[0], height, order, flags);
    for (size_t i = 0; !is_told("exact") && i < to->pitch[0] * (size_t)height; i++) {
        int value = pixels[i] + (int)(i * 7 % 31 % 5) - 2;
        pixels[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    tjDestroy(turbo);
    return 0;
}
#endif
