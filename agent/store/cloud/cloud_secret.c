// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/cloud_secret.h"

#include "lib/file.h"
#include "lib/time/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECRET_BYTES_MAX = 16 << 10,
    RENEW_BEFORE_MS = 5 * 60 * 1000,
    RENEW_PAUSE_MS = 10 * 1000, /* pause after a failed renewal while the old grant is still
                                   valid, and after a fetch before the next because of a refusal:
                                   what is refused then is not the grant's age */
};

struct cloud_secret {
    cloud_read_grant *read;
    const struct cloud_place *place;
    struct resolver *resolver;
    pthread_mutex_t lock;   /* guards the fields below; held while a grant is fetched, so that
                               all wait for it */
    struct cloud_grant now; /* generation 0: nothing read yet */
    int64_t read_ms, renew_ms, ends_ms; /* of a grant that ends */
    struct error failure;               /* of the last fetch, for those who waited for it */
    _Atomic int64_t failures;           /* written under the lock */
};

void cloud_wipe(char **bytes, size_t size) {
    if (*bytes) {
        explicit_bzero(*bytes, size);
        free(TAKE(*bytes));
    }
}

void cloud_grant_release(struct cloud_grant *grant) {
    cloud_wipe(&grant->bytes, grant->size);
    cloud_wipe(&grant->session, grant->session ? strlen(grant->session) : 0);
    free(TAKE(grant->name));
    grant->size = 0;
}

struct cloud_secret *cloud_secret_new(cloud_read_grant *read, const struct cloud_place *place,
                                      struct resolver *resolver) {
    struct cloud_secret *secret = x_calloc(1, sizeof *secret);
    secret->read = read;
    secret->place = place;
    secret->resolver = resolver;
    pthread_mutex_init(&secret->lock, NULL);
    return secret;
}

void cloud_secret_free(struct cloud_secret *secret) {
    if (secret) {
        cloud_grant_release(&secret->now);
        pthread_mutex_destroy(&secret->lock);
        free(secret);
    }
}

int cloud_secret_file(const struct cloud_place *place, const char *name, char **ret_text,
                      size_t *ret_size, struct error *err) {
    AUTO(text_freep) char *path = file_join(place->secrets, name);
    struct error missing = {0};
    char *text = NULL;
    size_t size = 0;
    if (file_read(path, SECRET_BYTES_MAX, &text, &size, &missing) < 0) {
        return missing.kind == ERROR_NOT_FOUND ? 0
                                               : error_set(err, ERROR_DENIED, "%s", missing.text);
    }
    size_t room = size;
    if (memchr(text, 0, size)) { /* sizes below would not be those of the texts */
        cloud_wipe(&text, room);
        return error_set(err, ERROR_DENIED,
                         "%s: it has a NUL byte, expected plain text (a file of UTF-16 must be "
                         "saved as UTF-8)",
                         path);
    }
    while (size && strchr(" \t\r\n", text[size - 1])) {
        size--;
    }
    size_t start = strspn(text, " \t\r\n");
    start = MIN(start, size);
    *ret_text = x_strndup(text + start, size - start);
    *ret_size = size - start;
    cloud_wipe(&text, room);
    return 1;
}

/* The caller holds the lock. */
static void replace(struct cloud_secret *secret, struct cloud_grant *fresh) {
    fresh->generation = secret->now.generation + 1;
    cloud_grant_release(&secret->now);
    secret->now = *fresh;
    secret->read_ms = clock_monotonic_ms();
    secret->ends_ms = secret->read_ms + fresh->lasts_ms;
    /* One that lasts less than 5 minutes is renewed after half its life. */
    secret->renew_ms = secret->ends_ms - MIN((int64_t)RENEW_BEFORE_MS, fresh->lasts_ms / 2);
    *fresh = (struct cloud_grant){0};
}

static struct cloud_grant copy_of(const struct cloud_grant *grant) {
    struct cloud_grant copy = *grant;
    copy.bytes = x_malloc(grant->size + 1);
    memcpy(copy.bytes, grant->bytes, grant->size);
    copy.bytes[grant->size] = 0;
    copy.name = x_strdup(grant->name);
    copy.session = x_strdup(grant->session);
    return copy;
}

/* The caller holds the lock. failures: before it waited for the lock. A fetch that failed meanwhile
 * is not repeated by each who waited for it: one after another they would wait for their time. */
static int fetch(struct cloud_secret *secret, int64_t failures, struct cloud_grant *fresh,
                 struct error *err) {
    if (atomic_load(&secret->failures) != failures) {
        *err = secret->failure;
        return -1;
    }
    struct error cause = {0};
    if (secret->read(secret->place, secret->resolver, fresh, &cause) < 0) {
        secret->failure = *err = cause;
        atomic_fetch_add(&secret->failures, 1);
        return -1;
    }
    return 0;
}

int cloud_secret_get(struct cloud_secret *secret, struct cloud_grant *ret_grant,
                     struct error *err) {
    int64_t failures = atomic_load(&secret->failures);
    pthread_mutex_lock(&secret->lock);
    int result = 0;
    bool ends = secret->now.generation && secret->now.lasts_ms;
    if (!secret->now.generation || (ends && clock_monotonic_ms() >= secret->renew_ms)) {
        AUTO(cloud_grant_release) struct cloud_grant fresh = {0};
        struct error cause = {0};
        if (fetch(secret, failures, &fresh, &cause) == 0) {
            replace(secret, &fresh);
        } else if (ends && clock_monotonic_ms() < secret->ends_ms) {
            /* The old one is still valid. */
            secret->renew_ms = clock_monotonic_ms() + RENEW_PAUSE_MS;
        } else {
            *err = cause;
            result = -1;
        }
    }
    if (result == 0) {
        *ret_grant = copy_of(&secret->now);
    }
    pthread_mutex_unlock(&secret->lock);
    return result;
}

static bool is_same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool cloud_secret_renew(struct cloud_secret *secret, int64_t generation) {
    int64_t failures = atomic_load(&secret->failures);
    pthread_mutex_lock(&secret->lock);
    const struct cloud_grant *now = &secret->now;
    bool is_other = now->generation != generation; /* another thread has renewed it already */
    bool is_young = now->lasts_ms && clock_monotonic_ms() - secret->read_ms < RENEW_PAUSE_MS;
    AUTO(cloud_grant_release) struct cloud_grant fresh = {0};
    struct error cause = {0};
    if (!is_other && !is_young && fetch(secret, failures, &fresh, &cause) == 0) {
        is_other = fresh.kind != now->kind || fresh.size != now->size ||
                   memcmp(fresh.bytes, now->bytes, fresh.size) != 0 ||
                   !is_same_text(fresh.name, now->name) ||
                   !is_same_text(fresh.session, now->session);
        if (is_other) {
            replace(secret, &fresh);
        }
    }
    pthread_mutex_unlock(&secret->lock);
    return is_other;
}
