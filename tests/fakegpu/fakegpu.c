// SPDX-License-Identifier: Apache-2.0
/* Stands in for libnccl.so.2 and libcuda.so.1 where there is no GPU: the functions that comm "nccl"
 * calls, with the semantics of NVIDIA's documentation, over shared memory between processes of one
 * machine. A "GPU" is the process itself, and a thread does the work on a stream.
 * Built twice, once under each name. FAKE_NCCL injects a fault, as WHAT:RANK:CALL:
 *   hang    the rank's sum never ends, and no rank gets an error
 *   remote  ncclCommGetAsyncError reports a remote error, while the sum never ends
 *   die     the process exits without a message
 *   init    ncclCommInitRank fails
 *   meet    ncclCommInitRank never ends
 *   cuda    cuInit fails (CALL is ignored)
 * FAKE_OLD: like NCCL before 2.14, where all calls block. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { RANKS_MAX = 16, CHUNK = 1 << 14 };

struct id {
    char name[128];
};

struct shared {
    atomic_int arrived, generation;
    float values[RANKS_MAX][CHUNK];
};

struct communicator {
    struct shared *shared;
    int size, rank, calls;
    char name[128];
    atomic_bool is_aborted, has_error, never_settles;
    atomic_int looks; /* how often ncclCommGetAsyncError returns "in progress" */
    pthread_t thread;
    bool has_thread;
};

struct stream {
    atomic_int pending;
};

struct sum {
    struct communicator *communicator;
    struct stream *stream;
    float *values;
    size_t count;
    bool hangs;
};

static bool is_meant(const char *what, int rank, int call) {
    const char *fault = getenv("FAKE_NCCL");
    char name[32];
    int its_rank, its_call;
    return fault && sscanf(fault, "%31[^:]:%d:%d", name, &its_rank, &its_call) == 3 &&
           strcmp(name, what) == 0 && its_rank == rank && (call < 0 || its_call == call);
}

static int own_rank(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? (int)strtol(rank, NULL, 10) : 0;
}

/* ---- libcuda -------------------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamQuery(void *stream);
EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuGetErrorString(int code, const char **text);

int cuInit(unsigned flags) {
    return flags != 0 ? 1 : is_meant("cuda", own_rank(), -1) ? 100 : 0;
}
int cuDeviceGet(int *device, int number) {
    *device = number;
    return number == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = malloc(1);
    return device;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    return device;
}
int cuCtxSetCurrent(void *context) {
    return context ? 0 : 201;
}
int cuStreamCreate(void **stream, unsigned flags) {
    *stream = calloc(1, sizeof(struct stream));
    return flags <= 1 ? 0 : 1;
}
int cuStreamQuery(void *stream) {
    return atomic_load(&((struct stream *)stream)->pending) ? 600 : 0;
}
int cuStreamDestroy_v2(void *stream) {
    free(stream);
    return 0;
}
int cuGetErrorString(int code, const char **text) {
    *text = code == 100 ? "no CUDA-capable device is detected" : "an error of CUDA's";
    return 0;
}

/* ---- libnccl -------------------------------------------------------------------------------- */

EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetUniqueId(struct id *id);
EXPORT int ncclCommInitRank(void **ret, int size, struct id id, int rank);
#ifndef FAKE_OLD
struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};
EXPORT int ncclCommInitRankConfig(void **ret, int size, struct id id, int rank,
                                  struct config *config);
EXPORT int ncclCommFinalize(void *of);
#endif
EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *of,
                         void *on);
EXPORT int ncclCommGetAsyncError(void *of, int *error);
EXPORT int ncclCommAbort(void *of);
EXPORT int ncclCommDestroy(void *of);
EXPORT const char *ncclGetErrorString(int code);
EXPORT const char *ncclGetLastError(void *of);

int ncclGetVersion(int *version) {
    *version = 22809;
    return 0;
}

int ncclGetUniqueId(struct id *id) {
    memset(id, 0, sizeof *id);
    const char *folder = getenv("TMPDIR");
    snprintf(id->name, sizeof id->name, "%.90s/fake-nccl-%d", folder ? folder : "/tmp", getpid());
    int file = open(id->name, O_CREAT | O_RDWR, 0600);
    int result = file < 0 || ftruncate(file, sizeof(struct shared)) < 0 ? 2 : 0;
    close(file);
    return result;
}

static int begin(void **ret, int size, struct id id, int rank) {
    if (is_meant("init", rank, -1) || size > RANKS_MAX) {
        return 5;
    }
    struct communicator *own = calloc(1, sizeof *own);
    int file = open(id.name, O_RDWR);
    void *memory =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        free(own);
        return 2;
    }
    close(file);
    own->shared = memory;
    own->size = size;
    own->rank = rank;
    memcpy(own->name, id.name, sizeof own->name);
    *ret = own;
    return 0;
}

int ncclCommInitRank(void **ret, int size, struct id id, int rank) {
    while (is_meant("meet", rank, -1)) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    return begin(ret, size, id, rank);
}

#ifndef FAKE_OLD
enum { IN_PROGRESS = 7, LOOKS = 3 };

int ncclCommInitRankConfig(void **ret, int size, struct id id, int rank, struct config *config) {
    if (config->magic != 0xcafebeef || config->version < 21400 || config->blocking != 0 ||
        config->size < sizeof *config) {
        return 4;
    }
    int result = begin(ret, size, id, rank);
    if (result == 0) {
        struct communicator *own = *ret;
        atomic_store(&own->never_settles, is_meant("meet", rank, -1));
        atomic_store(&own->looks, LOOKS);
    }
    return result ? result : IN_PROGRESS;
}

int ncclCommFinalize(void *of) {
    atomic_store(&((struct communicator *)of)->looks, LOOKS);
    return IN_PROGRESS;
}
#endif

/* Returns false if given up. */
static bool meet(struct communicator *own) {
    struct shared *shared = own->shared;
    int generation = atomic_load(&shared->generation);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == own->size) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->generation, 1);
        return true;
    }
    while (atomic_load(&shared->generation) == generation) {
        if (atomic_load(&own->is_aborted)) {
            return false;
        }
        sched_yield();
    }
    return true;
}

static void *work(void *context) {
    struct sum *sum = context;
    struct communicator *own = sum->communicator;
    bool goes_on = !sum->hangs;
    while (sum->hangs && !atomic_load(&own->is_aborted)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (size_t at = 0; goes_on && at < sum->count; at += CHUNK) {
        size_t count = sum->count - at < CHUNK ? sum->count - at : CHUNK;
        memcpy(own->shared->values[own->rank], sum->values + at, count * sizeof(float));
        goes_on = meet(own);
        for (size_t i = 0; goes_on && i < count; i++) {
            float total = 0;
            for (int rank = 0; rank < own->size; rank++) {
                total += own->shared->values[rank][i];
            }
            sum->values[at + i] = total;
        }
        goes_on = goes_on && meet(own);
    }
    atomic_store(&sum->stream->pending, 0);
    free(sum);
    return NULL;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *of, void *on) {
    struct communicator *own = of;
    struct stream *stream = on;
    /* For a test's device whose pointers are not real addresses (tests/device_apart.h). */
    void *(*real)(const void *, size_t) = NULL;
    *(void **)&real = dlsym(RTLD_DEFAULT, "device_apart_real");
    int call = own->calls++;
    if (from != to || type != 7 || op != 0 || atomic_load(&stream->pending)) {
        return 4;
    }
    if (is_meant("die", own->rank, call)) {
        _exit(9);
    }
    if (own->has_thread) {
        pthread_join(own->thread, NULL);
    }
    struct sum *sum = calloc(1, sizeof *sum);
    *sum = (struct sum){.communicator = own,
                        .stream = stream,
                        .values = real ? real(to, count * sizeof(float)) : to,
                        .count = count};
    atomic_store(&own->has_error, is_meant("error", own->rank, call));
    sum->hangs = is_meant("hang", own->rank, call) || atomic_load(&own->has_error);
    atomic_store(&stream->pending, 1);
    own->has_thread = pthread_create(&own->thread, NULL, work, sum) == 0;
    return own->has_thread ? 0 : 2;
}

int ncclCommGetAsyncError(void *of, int *error) {
    struct communicator *own = of;
    bool is_busy = atomic_load(&own->never_settles) || atomic_fetch_sub(&own->looks, 1) > 0;
    *error = atomic_load(&own->has_error) ? 6 : is_busy ? 7 : 0;
    return 0;
}

static int end(struct communicator *own) {
    if (own->has_thread) {
        pthread_join(own->thread, NULL);
    }
    if (own->rank == 0) {
        unlink(own->name);
    }
    munmap(own->shared, sizeof *own->shared);
    free(own);
    return 0;
}

int ncclCommAbort(void *of) {
    atomic_store(&((struct communicator *)of)->is_aborted, true);
    fprintf(stderr, "fake NCCL: aborted\n");
    return end(of);
}

int ncclCommDestroy(void *of) {
    return end(of);
}

const char *ncclGetErrorString(int code) {
    return code == 6 ? "remote process exited or there was a network error" : "invalid usage";
}

const char *ncclGetLastError(void *of) {
    return of ? "socketProgress: Connection closed by remote peer" : "";
}
