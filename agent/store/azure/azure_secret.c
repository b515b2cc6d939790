// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/azure_secret.h"

#include "lib/file.h"
#include "lib/text/base64.h"
#include "lib/time/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECRET_BYTES_MAX = 16 << 10,
    RENEW_BEFORE_MS = 5 * 60 * 1000,
    RENEW_PAUSE_MS = 10 * 1000, /* pause after a failed renewal while the old token is still
                                   valid */
};

struct azure_secret {
    const struct azure_place *place;
    struct resolver *resolver;
    pthread_mutex_t lock;      /* guards the fields below; held while a token is fetched, so that
                                  all wait for it */
    struct azure_grant now;    /* generation 0: nothing read yet */
    int64_t renew_ms, ends_ms; /* of a token */
};

static void wipe(char **bytes, size_t size) {
    if (*bytes) {
        explicit_bzero(*bytes, size);
        free(TAKE(*bytes));
    }
}

void azure_grant_release(struct azure_grant *grant) {
    wipe(&grant->bytes, grant->size);
    grant->size = 0;
}

struct azure_secret *azure_secret_new(const struct azure_place *place, struct resolver *resolver) {
    struct azure_secret *secret = x_calloc(1, sizeof *secret);
    secret->place = place;
    secret->resolver = resolver;
    pthread_mutex_init(&secret->lock, NULL);
    return secret;
}

void azure_secret_free(struct azure_secret *secret) {
    if (secret) {
        azure_grant_release(&secret->now);
        pthread_mutex_destroy(&secret->lock);
        free(secret);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Reads a file without white space at its ends. NOT_FOUND: no such file. */
static int read_secret_file(const struct azure_place *place, const char *name, char **ret_text,
                            size_t *ret_size, struct error *err) {
    AUTO(text_freep) char *path = file_join(place->secrets, name);
    char *text = NULL;
    size_t size = 0;
    if (file_read(path, SECRET_BYTES_MAX, &text, &size, err) < 0) {
        return -1;
    }
    size_t room = size;
    while (size && strchr(" \t\r\n", text[size - 1])) {
        size--;
    }
    size_t start = strspn(text, " \t\r\n?");
    start = MIN(start, size);
    *ret_text = x_strndup(text + start, size - start);
    *ret_size = size - start;
    wipe(&text, room);
    return 0;
}

/* 1: read; 0: no such file; -1. */
static int read_key(const struct azure_place *place, struct azure_grant *grant, struct error *err) {
    struct error missing = {0};
    char *text = NULL;
    size_t size = 0;
    if (read_secret_file(place, "azurestorageaccountkey", &text, &size, &missing) < 0) {
        return missing.kind == ERROR_NOT_FOUND ? 0
                                               : error_set(err, ERROR_DENIED, "%s", missing.text);
    }
    struct error cause = {0};
    int result = base64_decode(text, &grant->bytes, &grant->size, &cause);
    wipe(&text, size);
    if (result < 0 || !grant->size) {
        return error_set(err, ERROR_DENIED, "%s/azurestorageaccountkey: not an account key",
                         place->secrets);
    }
    grant->kind = AZURE_KEY;
    return 1;
}

static int read_sas(const struct azure_place *place, struct azure_grant *grant, struct error *err) {
    struct error missing = {0};
    if (read_secret_file(place, "azurestorageaccountsastoken", &grant->bytes, &grant->size,
                         &missing) < 0) {
        return missing.kind == ERROR_NOT_FOUND ? 0
                                               : error_set(err, ERROR_DENIED, "%s", missing.text);
    }
    bool is_good = strstr(grant->bytes, "sig=") != NULL;
    for (size_t i = 0; i < grant->size; i++) {
        is_good =
            is_good && grant->bytes[i] > ' ' && grant->bytes[i] < 127 && grant->bytes[i] != '#';
    }
    if (!is_good) {
        return error_set(err, ERROR_DENIED,
                         "%s/azurestorageaccountsastoken: not a shared access signature",
                         place->secrets);
    }
    grant->kind = AZURE_SAS;
    return 1;
}

/* ---- all credentials ------------------------------------------------------------------------ */

static int read_token(struct azure_secret *secret, struct azure_grant *grant, struct error *err) {
    const struct azure_place *place = secret->place;
    int64_t lasts_ms = 0;
    if (!place->client_id || !place->tenant_id || !place->token_file) {
        return error_set(err, ERROR_DENIED,
                         place->has_client_id
                             ? "no workload identity in this pod: AZURE_FEDERATED_TOKEN_FILE and "
                               "AZURE_TENANT_ID are not set"
                             : "%s holds neither azurestorageaccountkey nor "
                               "azurestorageaccountsastoken, and the pod has no workload identity",
                         place->secrets);
    }
    if (azure_token_fetch(place, secret->resolver, &grant->bytes, &lasts_ms, err) < 0) {
        return -1;
    }
    grant->kind = AZURE_TOKEN;
    grant->size = strlen(grant->bytes);
    secret->ends_ms = clock_monotonic_ms() + lasts_ms;
    /* A token that lasts less than 5 minutes is renewed after half its life. */
    secret->renew_ms = secret->ends_ms - MIN((int64_t)RENEW_BEFORE_MS, lasts_ms / 2);
    return 0;
}

/* The caller holds the lock. */
static int read_any(struct azure_secret *secret, struct azure_grant *grant, struct error *err) {
    int found = 0;
    if (!secret->place->has_client_id) {
        found = read_key(secret->place, grant, err);
        found = found ? found : read_sas(secret->place, grant, err);
    }
    if (found < 0 || (!found && read_token(secret, grant, err) < 0)) {
        azure_grant_release(grant);
        return -1;
    }
    return 0;
}

static void replace(struct azure_secret *secret, struct azure_grant *fresh) {
    fresh->generation = secret->now.generation + 1;
    azure_grant_release(&secret->now);
    secret->now = *fresh;
    *fresh = (struct azure_grant){0};
}

int azure_secret_get(struct azure_secret *secret, struct azure_grant *ret_grant,
                     struct error *err) {
    pthread_mutex_lock(&secret->lock);
    int64_t now_ms = clock_monotonic_ms();
    int result = 0;
    bool is_token = secret->now.kind == AZURE_TOKEN && secret->now.generation;
    if (!secret->now.generation || (is_token && now_ms >= secret->renew_ms)) {
        AUTO(azure_grant_release) struct azure_grant fresh = {0};
        struct error cause = {0};
        if (read_any(secret, &fresh, &cause) == 0) {
            replace(secret, &fresh);
        } else if (is_token && now_ms < secret->ends_ms) {
            secret->renew_ms = now_ms + RENEW_PAUSE_MS; /* the old token is still valid */
        } else {
            *err = cause;
            result = -1;
        }
    }
    if (result == 0) {
        *ret_grant = secret->now;
        ret_grant->bytes = x_malloc(secret->now.size + 1);
        memcpy(ret_grant->bytes, secret->now.bytes, secret->now.size);
        ret_grant->bytes[secret->now.size] = 0;
    }
    pthread_mutex_unlock(&secret->lock);
    return result;
}

bool azure_secret_renew(struct azure_secret *secret, int64_t generation) {
    pthread_mutex_lock(&secret->lock);
    bool is_other = secret->now.generation != generation; /* another thread has renewed it
                                                             already */
    AUTO(azure_grant_release) struct azure_grant fresh = {0};
    struct error cause = {0};
    if (!is_other && read_any(secret, &fresh, &cause) == 0) {
        is_other = fresh.kind != secret->now.kind || fresh.size != secret->now.size ||
                   memcmp(fresh.bytes, secret->now.bytes, fresh.size) != 0;
        if (is_other) {
            replace(secret, &fresh);
        }
    }
    pthread_mutex_unlock(&secret->lock);
    return is_other;
}
