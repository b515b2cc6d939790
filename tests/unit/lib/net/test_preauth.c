// SPDX-License-Identifier: Apache-2.0
/* Which connections without a token may stay, and which must go for others. */
#include "lib/net/preauth.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static char connections[1 << 16]; /* their addresses are the connections */
static uint64_t dice = 1;         /* the same numbers in each run */

static uint32_t roll(void) {
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(dice >> 33);
}

static struct preauth_source source_of(const char *text) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        return preauth_source_of((struct sockaddr *)&v4);
    }
    CHECK(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
    return preauth_source_of((struct sockaddr *)&v6);
}

/* As a server does; returns whether it stays. */
static bool come(struct preauth *preauth, const char *source, int64_t now_ms, int connection) {
    struct preauth_newcomer newcomer = {source_of(source), now_ms, roll()};
    void *evicted = NULL;
    if (!preauth_admits(preauth, &newcomer, &evicted)) {
        CHECK(!evicted);
        return false;
    }
    preauth_remove(preauth, evicted);
    CHECK(preauth_add(preauth, &newcomer.source, now_ms, &connections[connection]));
    return true;
}

static bool stays(const struct preauth *preauth, int connection) {
    for (int i = 0; i < preauth->count; i++) {
        if (preauth->entries[i].connection == &connections[connection]) {
            return true;
        }
    }
    return false;
}

static void test_sources(void) {
    static const struct {
        const char *a, *b;
        bool is_same, is_loopback;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", true, false},
        {"10.0.0.1", "10.0.0.2", false, false},
        {"10.0.0.1", "::ffff:10.0.0.1", true, false},
        {"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", false, false},
        {"2001:db8:1:2::1", "2001:db8:1:3::1", false, false},
        {"10.0.0.1", "a00:1::", false, false}, /* the same first bytes */
        {"10.0.0.1", "::10.0.0.1", false, false},
        {"127.0.0.1", "127.0.0.2", false, true},
        {"::1", "::1", true, true},
        {"::ffff:127.0.0.1", "127.0.0.1", true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct preauth_source a = source_of(rows[i].a), b = source_of(rows[i].b);
        CHECK_INT(memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0, rows[i].is_same);
        CHECK_INT(a.is_loopback, rows[i].is_loopback);
    }
}

static void test_one_source_has_few_places(void) {
    struct preauth preauth = {0};
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(come(&preauth, "10.0.0.1", 0, i), i < PREAUTH_SOURCE_MAX);
    }
    CHECK(come(&preauth, "10.0.0.2", 0, 1000));
    CHECK_INT(preauth.count, PREAUTH_SOURCE_MAX + 1);
    /* After the grace its oldest makes room for its newest; others are not touched. */
    CHECK(come(&preauth, "10.0.0.1", PREAUTH_GRACE_MS, 1001));
    CHECK(!stays(&preauth, 0) && stays(&preauth, 1) && stays(&preauth, 1000));
    CHECK_INT(preauth.count, PREAUTH_SOURCE_MAX + 1);
    /* One that has shown the token is out of the count. */
    preauth_remove(&preauth, &connections[1]);
    CHECK(come(&preauth, "10.0.0.1", PREAUTH_GRACE_MS, 1002));
}

static void test_loopback_may_have_all(void) {
    struct preauth preauth = {0};
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(come(&preauth, "127.0.0.1", 0, i), i < PREAUTH_MAX);
    }
}

/* A flood from eight addresses takes all places; a ninth is let in at once, again and again. */
static void test_a_newcomer_takes_the_place_of_the_greedy(void) {
    struct preauth preauth = {0};
    char source[32];
    for (int i = 0; i < PREAUTH_MAX; i++) {
        snprintf(source, sizeof source, "10.0.0.%d", 1 + i / PREAUTH_SOURCE_MAX);
        CHECK(come(&preauth, source, 0, i));
    }
    CHECK(!come(&preauth, "10.0.0.8", 0, 100)); /* the flood itself gains nothing */
    for (int i = 0; i < PREAUTH_SOURCE_MAX - 2; i++) {
        CHECK(come(&preauth, "10.9.9.9", 0, 200 + i));
        CHECK_INT(preauth.count, PREAUTH_MAX);
        CHECK(stays(&preauth, 200));
    }
    CHECK(!stays(&preauth, 0));
}

/* As many addresses as places: no one has more than another. After the grace the oldest goes,
 * before it one by chance, for those who hold no place. */
static void test_a_flood_of_many_addresses(void) {
    struct preauth preauth = {0};
    char source[32];
    for (int i = 0; i < PREAUTH_MAX; i++) {
        snprintf(source, sizeof source, "10.0.%d.1", i);
        CHECK(come(&preauth, source, i, i));
    }
    CHECK(!come(&preauth, "10.0.7.1", PREAUTH_GRACE_MS - 1, 99));
    struct preauth young = preauth;
    CHECK(come(&young, "10.9.9.9", PREAUTH_GRACE_MS - 1, 100));
    CHECK(young.count == PREAUTH_MAX && stays(&young, 100));
    CHECK(come(&preauth, "10.9.9.9", PREAUTH_GRACE_MS, 100));
    CHECK(!stays(&preauth, 0) && stays(&preauth, 1));
    CHECK(preauth_older_than(&preauth, 2) == &connections[1]);
    CHECK(!preauth_older_than(&preauth, 1));
    preauth_remove(&preauth, &connections[4000]); /* unknown */
    CHECK_INT(preauth.count, PREAUTH_MAX);
}

/* How many of 200 newcomers keep their place for the 10 ms in which they show the token, in a flood
 * of `rate` connections a second from `addresses`, each of which closes what the server closes. */
static int count_let_in(int addresses, int rate) {
    struct preauth preauth = {0};
    char source[32];
    int done = 0, next = 0, newest = -1;
    int64_t came_us = 0;
    for (int64_t now_us = 0; now_us < 21000000; now_us += 1000000 / rate) {
        snprintf(source, sizeof source, "10.1.0.%d", next % addresses);
        (void)come(&preauth, source, now_us / 1000, next++ % 30000);
        void *late = preauth_older_than(&preauth, now_us / 1000 - 10000);
        preauth_remove(&preauth, late);
        if (newest >= 0 && now_us - came_us >= 10000) {
            done += stays(&preauth, newest);
            preauth_remove(&preauth, &connections[newest]);
            newest = -1;
        }
        if (newest < 0 && now_us - came_us >= 100000 && now_us > 1000000) {
            int number = 40000 + (int)(now_us / 100000);
            came_us = now_us;
            newest = come(&preauth, "10.2.0.1", now_us / 1000, number) ? number : -1;
        }
    }
    return done;
}

static void test_newcomers_in_a_flood(void) {
    static const struct {
        int addresses, rate, least;
    } rows[] = {{40, 1000, 195}, {40, 5000, 195},  {70, 1000, 150},
                {70, 5000, 120}, {128, 1000, 150}, {128, 5000, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int seen = count_let_in(rows[i].addresses, rows[i].rate);
        printf("# %d addresses, %d a second: %d of 200 let in\n", rows[i].addresses, rows[i].rate,
               seen);
        CHECK(seen >= rows[i].least);
    }
}

/* A node's pods are often one IPv6 network: one that floods leaves the others their places. */
static void test_an_ipv6_network(void) {
    struct preauth preauth = {0};
    bool few = true;
    char source[64];
    for (int i = 0; i < 1000; i++) { /* one host with any number of addresses */
        snprintf(source, sizeof source, "2001:db8:1:2::%x", i);
        few &= come(&preauth, source, 0, i) && preauth.count <= PREAUTH_NETWORK_MAX;
    }
    CHECK(few);
    CHECK_INT(preauth.count, PREAUTH_NETWORK_MAX);
    CHECK(come(&preauth, "2001:db8:1:3::1", 0, 2000)); /* another network */
    CHECK_INT(preauth.count, PREAUTH_NETWORK_MAX + 1);
    struct preauth pod = {0};
    for (int i = 0; i < 20; i++) {
        CHECK_INT(come(&pod, "2001:db8:1:2::bad", 0, i), i < PREAUTH_SOURCE_MAX);
    }
    for (int i = 0; i < PREAUTH_NETWORK_MAX - 1; i++) { /* workers of the same node */
        snprintf(source, sizeof source, "2001:db8:1:2::a:%x", i);
        CHECK(come(&pod, source, 0, 100 + i));
    }
    CHECK(!stays(&pod, 0) && stays(&pod, 100)); /* room was made by the pod that floods */
    CHECK_INT(pod.count, PREAUTH_NETWORK_MAX);
}

int main(void) {
    TEST(test_sources);
    TEST(test_one_source_has_few_places);
    TEST(test_loopback_may_have_all);
    TEST(test_a_newcomer_takes_the_place_of_the_greedy);
    TEST(test_a_flood_of_many_addresses);
    TEST(test_newcomers_in_a_flood);
    TEST(test_an_ipv6_network);
    return TEST_END();
}
