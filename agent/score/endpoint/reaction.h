/* reaction.h: what an answer of a model server means for its request, by its HTTP status alone, and
 * how long to wait before asking again. Pure. Sources: RFC 9110, RFC 6585; what vLLM, TEI, Triton,
 * llama.cpp and hosted services answer. */
#pragma once

#include "lib/base.h"

enum reaction {
    REACTION_ANSWER,  /* 2xx: its body counts */
    REACTION_BUSY,    /* 429, 503, 529: the server has enough to do; not the request's fault */
    REACTION_BROKEN,  /* 408, 5xx, 3xx: asking again may help; a try */
    REACTION_DENIED,  /* 401, 403, 407: no request gets in with this key */
    REACTION_UNKNOWN, /* 404, 405, 410: it has no such path, or no such model */
    REACTION_REFUSED, /* other 4xx: this request is wrong, and stays so */
};

enum reaction reaction_to(int status);

enum {
    REACTION_WAIT_MS_MIN = 250,
    REACTION_WAIT_MS_MAX = 60000,
    REACTION_AFTER_MS_MAX = 600000, /* of a Retry-After, however long it is */
};

/* The pause before a request is retried that has failed `failures` times (1 or more): doubles from
 * 0.25 s to 60 s, of which a random half is taken off, so that those that failed together do not
 * come back together. random: any bits. */
int64_t reaction_wait_ms(int failures, uint32_t random);
