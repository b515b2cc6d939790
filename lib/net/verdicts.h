/* verdicts.h: what another server decided on bearer tokens, and which of them it may be asked about
 * next. Invalid tokens only evict other invalid tokens: a token that was admitted stays, and
 * is asked about again, however many invalid ones arrive. Pure: no clock. One thread at a time. */
#pragma once

#include "lib/net/preauth.h"

enum {
    VERDICT_MS =
        60000, /* how long a decision holds, and so how long a revoked right may still be used */
    VERDICTS_MAX = 64,             /* tokens that were admitted, and as many that were not */
    VERDICT_REVIEWS_PER_S = 10,    /* of tokens that were not admitted before, ... */
    VERDICT_REVIEWS_PER_SOURCE = 2 /* ... and of one address */
};

struct verdict {
    char token[65]; /* its SHA-256 in hexadecimal; "": none */
    int status;     /* 200, 401, 403 */
    int64_t until_ms;
};

struct verdicts {
    struct verdict admitted[VERDICTS_MAX], refused[VERDICTS_MAX];
    int64_t second_ms;
    int reviews;                                          /* in this second, ... */
    struct preauth_source sources[VERDICT_REVIEWS_PER_S]; /* ... and whose */
};

/* token: everywhere its SHA-256 in hexadecimal. The decision, or 0: none that holds. */
int verdicts_find(const struct verdicts *verdicts, const char *token, int64_t now_ms);
/* True: the other server may be asked about the token now, and one of this second's reviews is used
 * for it. */
bool verdicts_take_review(struct verdicts *verdicts, const char *token,
                          const struct preauth_source *source, int64_t now_ms);
/* Stores a decision of now_ms. status: 200, 401 or 403. */
void verdicts_keep(struct verdicts *verdicts, const char *token, int status, int64_t now_ms);
