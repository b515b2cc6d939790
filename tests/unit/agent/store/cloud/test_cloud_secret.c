// SPDX-License-Identifier: Apache-2.0
/* When the credentials of a store are fetched, and how often a service that gives them is asked. */
#include "agent/store/cloud/cloud_secret.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8 };

static _Atomic int reads, asking;
static int fails;        /* this many reads fail */
static int64_t lasts_ms; /* of what the others give */

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The first read ends when all threads ask. */
static int read_grant(const struct cloud_place *place, struct resolver *resolver,
                      struct cloud_grant *grant, struct error *err) {
    (void)place, (void)resolver;
    while (atomic_load(&asking) && atomic_load(&asking) < THREADS) {
        pause_ms(1);
    }
    pause_ms(atomic_load(&asking) ? 50 : 0);
    if (atomic_fetch_add(&reads, 1) < fails) {
        return error_set(err, ERROR_UNAVAILABLE, "no answer");
    }
    grant->bytes = x_strdup("word");
    grant->size = strlen(grant->bytes);
    grant->lasts_ms = lasts_ms;
    return 0;
}

static struct cloud_secret *begin(int failing, int64_t lasts) {
    atomic_store(&reads, 0);
    fails = failing;
    lasts_ms = lasts;
    return cloud_secret_new(read_grant, /* place= */ NULL, /* resolver= */ NULL);
}

static void *ask(void *context) {
    struct cloud_grant grant = {0};
    struct error err = {0};
    atomic_fetch_add(&asking, 1);
    int result = cloud_secret_get(context, &grant, &err);
    CHECK_STR(result < 0 ? err.text : "no answer", "no answer");
    cloud_grant_release(&grant);
    return NULL;
}

/* A thread that is late may ask once more. */
static void who_waits_for_a_fetch_shares_its_failure(void) {
    struct cloud_secret *secret = begin(/* failing= */ THREADS, /* lasts= */ 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, ask, secret), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(atomic_load(&reads) <= THREADS / 2);
    atomic_store(&asking, 0);
    cloud_secret_free(secret);
}

/* Its client tries again, after a pause of its own. */
static void who_asks_later_does_not(void) {
    struct cloud_secret *secret = begin(/* failing= */ 1, /* lasts= */ 0);
    struct cloud_grant grant = {0};
    struct error err = {0};
    CHECK_INT(cloud_secret_get(secret, &grant, &err), -1);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    error_clear(&err);
    CHECK_OK(cloud_secret_get(secret, &grant, &err), &err);
    CHECK_INT(atomic_load(&reads), 2);
    cloud_grant_release(&grant);
    cloud_secret_free(secret);
}

/* Files are read again; a service that has given a grant just now is not asked for the next. */
static void a_refusal(void) {
    static const struct {
        int64_t lasts_ms;
        int reads;
    } rows[] = {{0, 2}, {3600 * 1000, 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cloud_secret *secret = begin(/* failing= */ 0, rows[i].lasts_ms);
        struct cloud_grant grant = {0};
        struct error err = {0};
        CHECK_OK(cloud_secret_get(secret, &grant, &err), &err);
        CHECK(!cloud_secret_renew(secret, grant.generation));
        CHECK_INT(atomic_load(&reads), rows[i].reads);
        cloud_grant_release(&grant);
        cloud_secret_free(secret);
    }
}

int main(void) {
    TEST(who_waits_for_a_fetch_shares_its_failure);
    TEST(who_asks_later_does_not);
    TEST(a_refusal);
    return TEST_END();
}
