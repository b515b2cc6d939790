// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/reaction.h"

enum { DOUBLINGS_MAX = 8 };

enum reaction reaction_to(int status) {
    switch (status) {
    case 429:
    case 503:
    case 529: /* Anthropic's "overloaded" */
        return REACTION_BUSY;
    case 401:
    case 403:
    case 407:
        return REACTION_DENIED;
    case 404:
    case 405:
    case 410:
        return REACTION_UNKNOWN;
    case 408:
        return REACTION_BROKEN;
    default:
        return status >= 200 && status < 300   ? REACTION_ANSWER
               : status >= 400 && status < 500 ? REACTION_REFUSED
                                               : REACTION_BROKEN;
    }
}

int64_t reaction_wait_ms(int failures, uint32_t random) {
    int doublings = MIN(MAX(failures, 1) - 1, (int)DOUBLINGS_MAX);
    int64_t most = MIN((int64_t)REACTION_WAIT_MS_MIN << doublings, (int64_t)REACTION_WAIT_MS_MAX);
    int64_t half = most / 2;
    return most - (int64_t)((double)random / UINT32_MAX * (double)half);
}
