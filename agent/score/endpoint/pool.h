/* pool.h: asks model servers over HTTP: one thread with one event loop for all slots of a worker,
 * which decides how many requests are in flight, who is asked, and what is asked again. A caller
 * blocks until its request has been answered or given up.
 *
 *     slot 0 .. slot n (threads)                     thread of the pool
 *     pool_send()   -> inbox ---> queue --+--> backends_pick -> lib/net/http --> server
 *        ^                             ^     |      window, Retry-After, limits       |
 *        |                             +-- later (back-off) <-- busy, broken ---------+
 *        +------- answer, or a cause <------------------------- answered, refused ----+ */
#pragma once

#include "agent/score/endpoint/setting.h"
#include "agent/score/wire/request_metrics.h"
#include "lib/buffer.h"

#include <semaphore.h>
#include <stdatomic.h>

enum pool_end {
    POOL_ANSWERED, /* 2xx */
    POOL_REFUSED,  /* this request is wrong, or its tries are used up: `cause` */
    POOL_DROPPED,  /* no caller wants it any more */
    POOL_AWAY      /* no server can be used: pool_has_failed says why */
};

struct pool_ask {
    const char *method, *path; /* path: behind the server's URL */
    const char *key;           /* path and model, for what a server does not know */
    const char *body;
    size_t body_size;
    int64_t tokens; /* estimated, of prompt and answer; for limits */
    int tries;      /* already used; grows */
    /* Set from other threads: the answer is not wanted any more. */
    const atomic_bool *dropped, *ends;

    enum pool_end end;
    int status;   /* of the last answer; 0: none */
    char *answer; /* ANSWERED: owned by the caller, NUL-terminated */
    size_t answer_size;
    int64_t held; /* ANSWERED: memory for it (answer_memory.h); pool_give_back */
    char cause[256];

    struct pool_own { /* the pool's */
        struct pool_ask *next, **link;
        struct pool *pool;
        sem_t done;             /* of its own: hundreds that end together would wait for one lock */
        struct http_call *call; /* NULL: not in flight */
        int server;             /* it is or was in flight there; -1: nowhere */
        int refusals;           /* answers that it is busy */
        uint32_t without;       /* bits of the servers that do not know its path or model */
        bool was_forbidden;     /* one has answered 403 */
        bool was_full;          /* there was no memory for its answer */
        struct buffer body;     /* what has arrived of an answer */
        int64_t due_ms, sent_ms;
    } own;
};

struct pool;

/* What it needs of the setting must outlive it. */
NODISCARD int pool_open(const struct endpoint_setting *setting, struct pool **ret_pool,
                        struct error *err);
void pool_close(struct pool *pool); /* when no slot asks any more; accepts NULL */

/* Blocks until a server has answered anything. UNAVAILABLE: none did within setting.ready_ms.
 * INVALID: none ever will. CANCELLED: *ends was set. Any thread. */
NODISCARD int pool_await(struct pool *pool, const atomic_bool *ends, struct error *err);
/* Sends the request, again where that helps, and blocks until ask->end says how it ended. Any
 * thread. */
void pool_send(struct pool *pool, struct pool_ask *ask);
/* The limits per minute are shared by this many workers (1 at first). Any thread. */
void pool_share(struct pool *pool, int workers);
/* Returns the answer's share of the bounded memory; call it when the answer and what was made of it
 * are freed. *held becomes 0. Any thread. */
void pool_give_back(struct pool *pool, int64_t *held);
/* Whether no request can succeed any more; then *err is set: DENIED (a key), UNAVAILABLE. */
bool pool_has_failed(struct pool *pool, struct error *err);
struct request_metrics *pool_metrics(struct pool *pool); /* any thread */
