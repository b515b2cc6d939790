/* nccl_library.h: the functions of NCCL (libnccl.so.2) and of NVIDIA's driver (libcuda.so.1) that
 * comm "nccl" calls, loaded at run time: one windlass-trainer works in images with and without
 * them, and building needs neither. Types are those of nccl.h 2 and cuda.h, whose interfaces do not
 * change within a major version (tests/unit/agent/comm/test_nccl.c compares them where the headers
 * are installed). */
#pragma once

#include "lib/error.h"

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_FLOAT32 = 7, NCCL_SUM = 0 };
enum { DRIVER_SUCCESS = 0, DRIVER_NOT_READY = 600, DRIVER_NON_BLOCKING = 1 };

enum { NCCL_MAGIC = (int)0xcafebeef, NCCL_CONFIG_VERSION = 21400 };

struct nccl_id {
    char bytes[128];
};

/* ncclConfig_t of NCCL 2.14; later versions use defaults for fields that it does not have. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

/* The void pointers are ncclComm_t, CUcontext, CUstream. */
struct nccl_library {
    int (*get_version)(int *version);
    int (*get_id)(struct nccl_id *id);
    int (*init_rank)(void **communicator, int size, struct nccl_id id, int rank);
    /* Both are NULL if NCCL is older than 2.14. */
    int (*init_rank_config)(void **communicator, int size, struct nccl_id id, int rank,
                            struct nccl_config *config);
    int (*finalize)(void *communicator);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op,
                      void *communicator, void *stream);
    int (*get_async_error)(void *communicator, int *error);
    int (*abort)(void *communicator);
    int (*destroy)(void *communicator);
    const char *(*error_string)(int code);
    const char *(*last_error)(void *communicator);
    int (*driver_init)(unsigned flags);
    int (*device_get)(int *device, int number);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set)(void *context);
    int (*stream_new)(void **stream, unsigned flags);
    int (*stream_query)(void *stream);
    int (*stream_free)(void *stream);
    int (*driver_error_string)(int code, const char **text);
};

/* ERROR_UNAVAILABLE names the library and where to get it. Loaded libraries are never unloaded. */
NODISCARD int nccl_library_load(struct nccl_library *ret_library, struct error *err);
