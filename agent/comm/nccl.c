// SPDX-License-Identifier: Apache-2.0
/* Sums between GPUs with NCCL. Ranks connect, and communicate everything except sums of device
 * memory, through the comm that this process would have without GPUs: mpi, or single. */
#include "agent/comm/comm.h"

#include "agent/comm/nccl_library.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIN_NS = 300000,
    PAUSE_NS = 20000,
    WHY_MAX = 256,
    MEET_S = 120,   /* until all ranks are connected: on many machines NCCL takes half a minute */
    FINALIZE_S = 10 /* at the end, after all calls */
};

struct nccl {
    struct comm comm;
    struct comm *host;
    struct nccl_library library;
    int device;
    void *context, *stream, *communicator; /* NULL: not yet */
};

static int error_from_driver(const struct nccl *nccl, struct error *err, int code,
                             const char *what) {
    const char *text = NULL;
    if (nccl->library.driver_error_string(code, &text) != DRIVER_SUCCESS || !text) {
        text = "an unnamed error";
    }
    return error_set(err, ERROR_UNAVAILABLE, "comm \"nccl\": %s: %s (CUDA error %d)", what, text,
                     code);
}

static int error_from_nccl(const struct nccl *nccl, struct error *err, int code, const char *what) {
    const char *more = nccl->library.last_error(nccl->communicator);
    bool has_more = more && *more;
    return error_set(err, ERROR_UNAVAILABLE, "comm \"nccl\": %s: %s%s%.200s", what,
                     nccl->library.error_string(code), has_more ? ": " : "", has_more ? more : "");
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Also ends kernels on the GPU: a kernel of NCCL would wait for a dead rank forever. */
static int give_up(struct nccl *nccl) {
    nccl->library.abort(TAKE(nccl->communicator));
    return -1;
}

/* Pauses between two polls: at first without sleeping, as sums of a few MB take less time than
 * waking up. */
static void pause_since(int64_t start_ns) {
    if (clock_monotonic_ns() - start_ns < SPIN_NS) {
        sched_yield();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

/* Waits until the stream is done, NCCL has failed, or the thread that waits for this one has timed
 * out. */
static int await_stream(struct nccl *nccl, struct error *err) {
    int64_t start_ns = clock_monotonic_ns();
    for (;;) {
        int failed = NCCL_SUCCESS, code = nccl->library.stream_query(nccl->stream);
        if (code == DRIVER_SUCCESS) {
            return 0;
        }
        if (code != DRIVER_NOT_READY) {
            error_from_driver(nccl, err, code, "a sum on the GPU");
            return give_up(nccl);
        }
        code = nccl->library.get_async_error(nccl->communicator, &failed);
        failed = code == NCCL_SUCCESS ? failed : code;
        if (failed != NCCL_SUCCESS && failed != NCCL_IN_PROGRESS) {
            error_from_nccl(nccl, err, failed, "a sum between ranks");
            return give_up(nccl);
        }
        if (atomic_load(&nccl->comm.is_lost)) {
            error_set(err, ERROR_TIMEOUT, "comm \"nccl\": a sum was aborted");
            return give_up(nccl);
        }
        pause_since(start_ns);
    }
}

static bool is_begun(int code) {
    return code == NCCL_SUCCESS || code == NCCL_IN_PROGRESS;
}

/* Waits until NCCL has finished the call; *ret_code is its result. False: timed out or cancelled.
 * For non-blocking communicators only. */
static bool await_call(struct nccl *nccl, int64_t timeout_ms, int *ret_code) {
    int64_t start_ns = clock_monotonic_ns();
    *ret_code = NCCL_IN_PROGRESS;
    for (;;) {
        int state = NCCL_IN_PROGRESS;
        int code = nccl->library.get_async_error(nccl->communicator, &state);
        *ret_code = code == NCCL_SUCCESS ? state : code;
        if (*ret_code != NCCL_IN_PROGRESS) {
            return true;
        }
        bool is_late = timeout_ms > 0 && clock_monotonic_ns() - start_ns > timeout_ms * 1000000;
        if (is_late || atomic_load(&nccl->comm.is_lost)) {
            return false;
        }
        pause_since(start_ns);
    }
}

static int nccl_reduce_device(struct comm *comm, float *values, size_t count, struct error *err) {
    struct nccl *nccl = (struct nccl *)comm;
    if (comm->size == 1 || count == 0) {
        return 0;
    }
    if (!nccl->communicator) {
        return error_set(err, ERROR_BUG, "comm \"nccl\": it was aborted earlier");
    }
    int code = nccl->library.context_set(nccl->context); /* for this thread */
    if (code != DRIVER_SUCCESS) {
        return error_from_driver(nccl, err, code, "taking the GPU");
    }
    code = nccl->library.all_reduce(values, values, count, NCCL_FLOAT32, NCCL_SUM,
                                    nccl->communicator, nccl->stream);
    bool is_settling = nccl->library.init_rank_config && is_begun(code);
    if (is_settling && !await_call(nccl, 0, &code)) { /* the call was not on the stream yet */
        error_set(err, ERROR_TIMEOUT, "comm \"nccl\": a sum was aborted");
        return give_up(nccl);
    }
    if (code != NCCL_SUCCESS) {
        error_from_nccl(nccl, err, code, is_settling ? "a sum between ranks" : "ncclAllReduce");
        return give_up(nccl);
    }
    return await_stream(nccl, err);
}

/* ---- the rest: the host's ------------------------------------------------------------------- */

static struct comm *host_of(struct comm *comm) {
    return ((struct nccl *)comm)->host;
}

static int nccl_reduce(struct comm *comm, float *values, size_t count, struct error *err) {
    return host_of(comm)->ops->reduce(host_of(comm), values, count, err);
}

static int nccl_broadcast(struct comm *comm, void *bytes, size_t size, struct error *err) {
    return host_of(comm)->ops->broadcast(host_of(comm), bytes, size, err);
}

static int nccl_gather(struct comm *comm, const void *mine, size_t size, void *all,
                       struct error *err) {
    return host_of(comm)->ops->gather(host_of(comm), mine, size, all, err);
}

static int nccl_barrier(struct comm *comm, struct error *err) {
    return host_of(comm)->ops->barrier(host_of(comm), err);
}

/* A non-blocking communicator is finalized first; if the other ranks do not respond, this is
 * skipped. */
static void end_communicator(struct nccl *nccl) {
    int code = NCCL_SUCCESS;
    if (nccl->library.init_rank_config) {
        code = nccl->library.finalize(nccl->communicator);
        if (is_begun(code) && !await_call(nccl, 1000 * FINALIZE_S, &code)) {
            code = NCCL_IN_PROGRESS;
        }
    }
    if (code == NCCL_SUCCESS) {
        nccl->library.destroy(nccl->communicator);
    } else {
        nccl->library.abort(nccl->communicator);
    }
}

static void nccl_close(struct comm *comm) {
    struct nccl *nccl = (struct nccl *)comm;
    if (atomic_load(&comm->is_lost)) {
        return; /* another thread may be in a call; MPI would wait for the others */
    }
    if (nccl->communicator) {
        end_communicator(nccl);
    }
    if (nccl->stream) {
        nccl->library.stream_free(nccl->stream);
    }
    if (nccl->context) {
        nccl->library.context_release(nccl->device);
    }
    comm_close(nccl->host);
    free(nccl);
}

static const struct comm_ops nccl_ops = {.reduce = nccl_reduce,
                                         .reduce_device = nccl_reduce_device,
                                         .broadcast = nccl_broadcast,
                                         .gather = nccl_gather,
                                         .barrier = nccl_barrier,
                                         .close = nccl_close};

/* ---- opening -------------------------------------------------------------------------------- */

/* Opens everything that needs no other rank: libraries, the GPU (the first visible one), a
 * stream. */
static int open_gpu(struct nccl *nccl, struct error *err) {
    int version = 0;
    if (nccl_library_load(&nccl->library, err) < 0) {
        return -1;
    }
    int code = nccl->library.driver_init(0);
    code = code ? code : nccl->library.device_get(&nccl->device, 0);
    code = code ? code : nccl->library.context_retain(&nccl->context, nccl->device);
    code = code ? code : nccl->library.context_set(nccl->context);
    code = code ? code : nccl->library.stream_new(&nccl->stream, DRIVER_NON_BLOCKING);
    if (code != DRIVER_SUCCESS) {
        return error_from_driver(nccl, err, code, "opening the GPU");
    }
    code = nccl->library.get_version(&version);
    if (code != NCCL_SUCCESS) {
        return error_from_nccl(nccl, err, code, "ncclGetVersion");
    }
    snprintf(nccl->comm.about, sizeof nccl->comm.about, "NCCL %d.%d.%d over %.32s", version / 10000,
             version / 100 % 100, version % 100, nccl->host->about);
    return 0;
}

/* The others would wait for a rank that is not ready. So all ranks exchange their readiness first,
 * and report the first rank that is not ready. */
static int agree_on_readiness(struct nccl *nccl, const struct error *mine, struct error *err) {
    char why[WHY_MAX] = "";
    char(*all)[WHY_MAX] = x_calloc((size_t)nccl->host->size, sizeof *all);
    snprintf(why, sizeof why, "%.255s", mine->text);
    int result = comm_gather(nccl->host, why, sizeof why, all, err);
    for (int rank = 0; result == 0 && rank < nccl->host->size; rank++) {
        if (all[rank][0]) {
            result = error_set(err, ERROR_UNAVAILABLE, "rank %d: %s", rank, all[rank]);
        }
    }
    free(all);
    return result;
}

/* How long ranks wait for each other in ncclCommInitRank; WINDLASS_NCCL_SECONDS, for tests. */
static int64_t meeting_ms(void) {
    const char *text = getenv("WINDLASS_NCCL_SECONDS");
    int64_t seconds = text ? strtoll(text, NULL, 10) : 0;
    return 1000 * (seconds > 0 && seconds < 86400 ? seconds : MEET_S);
}

static int error_of_meeting(struct error *err, int64_t timeout_ms) {
    return error_set(err, ERROR_TIMEOUT,
                     "comm \"nccl\": ncclCommInitRank: the ranks have not met for %lld s, though "
                     "MPI has them all: NCCL's own way between them is cut (NCCL_DEBUG=INFO says "
                     "which; NCCL_SOCKET_IFNAME chooses another)",
                     (long long)timeout_ms / 1000);
}

/* A call of an old NCCL cannot be cancelled: the caller gets a timeout and ends the process.
 */
struct watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    int rank;
    int64_t timeout_ms;
};

static void *watch_main(void *context) {
    struct watch *watch = context;
    int64_t until_ms = clock_monotonic_ms() + watch->timeout_ms;
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_done && timed_wait(&watch->changed, &watch->lock, until_ms)) {
    }
    if (!watch->is_done) {
        struct error err = {0};
        error_of_meeting(&err, watch->timeout_ms);
        fprintf(stderr, "rank %d: %s\n", watch->rank, err.text);
        comm_abandon(error_exit_code(&err));
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static int init_watched(struct nccl *nccl, struct nccl_id id, int64_t timeout_ms) {
    struct watch watch = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .rank = nccl->comm.rank, .timeout_ms = timeout_ms};
    pthread_t thread;
    timed_wait_init(&watch.changed);
    bool is_watched = pthread_create(&thread, NULL, watch_main, &watch) == 0;
    int code = nccl->library.init_rank(&nccl->communicator, nccl->comm.size, id, nccl->comm.rank);
    pthread_mutex_lock(&watch.lock);
    watch.is_done = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    if (is_watched) {
        pthread_join(thread, NULL);
    }
    return code;
}

/* Non-blocking if NCCL supports it (2.14), so that a rank that waits too long can report it and
 * exit. */
static int init(struct nccl *nccl, struct nccl_id id, struct error *err) {
    int64_t timeout_ms = meeting_ms();
    struct nccl_config config = {.size = sizeof config,
                                 .magic = (unsigned)NCCL_MAGIC,
                                 .version = NCCL_CONFIG_VERSION,
                                 .blocking = 0};
    int code;
    if (nccl->library.init_rank_config) {
        code = nccl->library.init_rank_config(&nccl->communicator, nccl->comm.size, id,
                                              nccl->comm.rank, &config);
        if (is_begun(code) && !await_call(nccl, timeout_ms, &code)) {
            error_of_meeting(err, timeout_ms);
            return give_up(nccl);
        }
    } else {
        code = init_watched(nccl, id, timeout_ms);
    }
    return code == NCCL_SUCCESS ? 0 : error_from_nccl(nccl, err, code, "ncclCommInitRank");
}

static int connect_ranks(struct nccl *nccl, struct error *err) {
    struct nccl_id id = {{0}};
    struct error mine = {0};
    int code = nccl->comm.rank == 0 ? nccl->library.get_id(&id) : NCCL_SUCCESS;
    if (code != NCCL_SUCCESS) {
        error_from_nccl(nccl, &mine, code, "ncclGetUniqueId");
    }
    if (agree_on_readiness(nccl, &mine, err) < 0 ||
        comm_agree(nccl->host, "NCCL's version", nccl->comm.about, err) < 0 ||
        comm_broadcast(nccl->host, &id, sizeof id, err) < 0) {
        return -1;
    }
    return init(nccl, id, err);
}

static int nccl_open(struct comm **ret_comm, struct error *err) {
    struct error mine = {0};
    struct comm *host;
    if (comm_open(NULL, &host, err) < 0) {
        return -1;
    }
    struct nccl *nccl = x_calloc(1, sizeof *nccl);
    nccl->host = host;
    nccl->comm.name = comm_nccl.name;
    nccl->comm.ops = &nccl_ops;
    snprintf(nccl->comm.about, sizeof nccl->comm.about, "%s", host->about);
    nccl->comm.rank = nccl->host->rank;
    nccl->comm.size = nccl->host->size;
    if (host->size == 1) { /* nothing is summed, and no library is needed */
        *ret_comm = &nccl->comm;
        return 0;
    }
    int opened = open_gpu(nccl, &mine);
    if (agree_on_readiness(nccl, &mine, err) < 0 || opened < 0 || connect_ranks(nccl, err) < 0) {
        return -1; /* like mpi's: this process ends, and mpirun ends the others */
    }
    *ret_comm = &nccl->comm;
    return 0;
}

/* Only chosen by name, by a caller with gradients on a GPU. */
static bool nccl_is_meant(void) {
    return false;
}

const struct comm_kind comm_nccl = {"nccl", nccl_is_meant, nccl_open};
