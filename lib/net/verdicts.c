// SPDX-License-Identifier: Apache-2.0
#include "lib/net/verdicts.h"

#include <stdio.h>
#include <string.h>

/* Its place among VERDICTS_MAX; NULL: it has none. */
static struct verdict *place_of(struct verdict *places, const char *token) {
    for (size_t i = 0; i < VERDICTS_MAX; i++) {
        if (strcmp(places[i].token, token) == 0) {
            return &places[i];
        }
    }
    return NULL;
}

static struct verdict *oldest(struct verdict *places) {
    struct verdict *found = &places[0];
    for (size_t i = 1; i < VERDICTS_MAX; i++) {
        found = places[i].until_ms < found->until_ms ? &places[i] : found;
    }
    return found;
}

static int holding(const struct verdict *places, const char *token, int64_t now_ms) {
    for (size_t i = 0; i < VERDICTS_MAX; i++) {
        if (places[i].until_ms > now_ms && strcmp(places[i].token, token) == 0) {
            return places[i].status;
        }
    }
    return 0;
}

int verdicts_find(const struct verdicts *verdicts, const char *token, int64_t now_ms) {
    int status = holding(verdicts->admitted, token, now_ms);
    return status ? status : holding(verdicts->refused, token, now_ms);
}

static int count_of(const struct verdicts *verdicts, const struct preauth_source *source) {
    int count = 0;
    for (int i = 0; i < verdicts->reviews; i++) {
        count += memcmp(verdicts->sources[i].bytes, source->bytes, sizeof source->bytes) == 0;
    }
    return count;
}

bool verdicts_take_review(struct verdicts *verdicts, const char *token,
                          const struct preauth_source *source, int64_t now_ms) {
    if (place_of(verdicts->admitted, token)) {
        return true; /* there are few, and each at most once in VERDICT_MS */
    }
    if (now_ms - verdicts->second_ms >= 1000) {
        verdicts->second_ms = now_ms;
        verdicts->reviews = 0;
    }
    if (verdicts->reviews == VERDICT_REVIEWS_PER_S ||
        count_of(verdicts, source) == VERDICT_REVIEWS_PER_SOURCE) {
        return false;
    }
    verdicts->sources[verdicts->reviews++] = *source;
    return true;
}

void verdicts_keep(struct verdicts *verdicts, const char *token, int status, int64_t now_ms) {
    struct verdict *known = place_of(verdicts->admitted, token);
    if (known && status != 200) {
        *known = (struct verdict){.until_ms = 0};
        known = NULL;
    }
    if (!known) {
        known = oldest(status == 200 ? verdicts->admitted : verdicts->refused);
    }
    known->status = status;
    known->until_ms = now_ms + VERDICT_MS;
    snprintf(known->token, sizeof known->token, "%s", token);
}
