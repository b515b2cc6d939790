/* nvjpeg_library.h: the functions of nvJPEG (libnvjpeg.so.13, or .12) and of NVIDIA's driver
 * (libcuda.so.1) that jpeg_hardware.c calls, loaded at run time: building needs nothing from
 * NVIDIA. Types are those of nvjpeg.h 12 and 13 and of cuda.h
 * (tests/unit/agent/data/image/test_jpeg_hardware.c compares them where the headers are installed).
 * Source: NVIDIA's nvJPEG guide, chapter 2. */
#pragma once

#include "lib/error.h"

enum nvjpeg_status {
    NVJPEG_DONE = 0,
    NVJPEG_INVALID = 2, /* an invalid parameter, such as unknown flags */
    NVJPEG_BAD = 3,     /* the file is broken */
    NVJPEG_UNKNOWN = 4, /* this kind of JPEG is not supported */
    NVJPEG_MEMORY = 5,
    NVJPEG_NOT_BUILT = 9, /* as NVJPEG_UNKNOWN, in this build of nvJPEG */
    NVJPEG_CUT = 10,      /* the file is truncated */
};
enum { NVJPEG_GREY = 2, NVJPEG_RGB_TOGETHER = 5 }; /* of nvjpegOutputFormat_t */
enum { NVJPEG_NO_SAMPLING = -1 };                  /* of nvjpegChromaSubsampling_t */
/* STRICT reports a broken file instead of guessing; INTERPOLATE interpolates chroma as libjpeg
 * does. */
enum { NVJPEG_STRICT = 4, NVJPEG_INTERPOLATE = 32 };
enum { CUDA_DONE = 0, CUDA_ITS_OWN_STREAM = 1, NVJPEG_PLANES = 4 };

/* nvjpegImage_t: addresses on the GPU. */
struct nvjpeg_image {
    uint8_t *channel[NVJPEG_PLANES];
    size_t pitch[NVJPEG_PLANES]; /* bytes from one row to the next */
};

/* The void pointers are nvjpegHandle_t, nvjpegJpegState_t, CUcontext, CUstream. */
struct nvjpeg_library {
    int (*get_property)(int which, int *value);
    int (*create)(int backend, void *allocator, void *pinned, unsigned flags, void **handle);
    int (*destroy)(void *handle);
    int (*state_create)(void *handle, void **state);
    int (*state_destroy)(void *state);
    int (*get_info)(void *handle, const uint8_t *bytes, size_t size, int *components, int *sampling,
                    int *widths, int *heights);
    int (*decode)(void *handle, void *state, const uint8_t *bytes, size_t size, int format,
                  struct nvjpeg_image *to, void *stream);
    int (*driver_init)(unsigned flags);
    int (*current_device)(int *device);
    int (*device_get)(int *device, int number);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*stream_new)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_free)(void *stream);
    int (*memory_new)(uint64_t *address, size_t size);
    int (*memory_free)(uint64_t address);
    int (*copy_down)(void *to, uint64_t from, size_t size, void *stream);
    int (*driver_error_string)(int code, const char **text);
};

/* ERROR_UNAVAILABLE names the library and where to get it. Loaded libraries are never unloaded. */
NODISCARD int nvjpeg_library_load(struct nvjpeg_library *ret_library, struct error *err);
