/* pool_state.h: what pool.c (sending, waiting, the thread) and pool_answers.c (what becomes of a
 * request that was sent) share. Private to these two. */
#pragma once

#include "agent/score/endpoint/answer_memory.h"
#include "agent/score/endpoint/ask_list.h"
#include "agent/score/endpoint/budget.h"
#include "lib/net/http.h"

#include <pthread.h>

enum {
    POOL_ANSWER_MAX = 32 << 20,    /* bytes */
    POOL_COMPLAINT_MAX = 64 << 10, /* what is kept of an answer with an error, such as 500 */
    POOL_TOLD_MS = 10000,          /* of lines of the log about servers, at most one so often */
};

struct pool {
    const struct endpoint_setting *setting;
    pthread_t thread;
    int wake_fd;
    char *key_header;     /* with the key; NULL: none, or it is a bearer's */
    const char **headers; /* of each request, ended by NULL; from HEADERS_OWN on owned */
    struct request_metrics metrics;
    struct answer_memory memory;
    atomic_int sharers; /* workers that share the limits */

    pthread_mutex_t lock; /* guards the following */
    struct ask_list inbox;
    bool ends, is_there; /* is_there: a server has answered anything */
    bool is_hungry;      /* its thread sleeps, and has nothing to send: a request wakes it */
    struct error ended;

    /* of the thread */
    struct http *http;
    struct backends servers;
    struct budget requests, tokens;
    int budget_sharers;      /* workers that share the two budgets */
    bool has_begun;          /* a request has come */
    struct ask_list queue;   /* to be sent, in order */
    struct pool_ask *later;  /* to be sent at due_ms; in that order */
    struct pool_ask *flying; /* in no order */
    int64_t look_ms, told_ms, probe_ms, began_ms;
    bool is_probing;
    int probed;       /* the server that was looked for last */
    char reason[256]; /* why the last request got no answer */
};

/* The request has ended; its caller goes on. */
void pool_finish(struct pool *pool, struct pool_ask *ask, enum pool_end end);
/* No request can succeed any more. */
void pool_end_all(struct pool *pool, enum error_kind kind, const char *why);
void pool_note_there(struct pool *pool); /* a server has answered */
/* A line of the log about a server, seldom. */
void pool_warn(struct pool *pool, const char *url, const char *what);
void pool_put_off(struct pool *pool, struct pool_ask *ask, int64_t wait_ms);
/* What http.h calls for a request in flight; its context is the request. */
http_received pool_received;
http_done pool_done;
