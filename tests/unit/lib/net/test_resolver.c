// SPDX-License-Identifier: Apache-2.0
/* Against a small name server of this machine, which answers by the first label of the name. */
#include "lib/net/resolver.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct names {
    int fd, port;
    pthread_t thread;
    atomic_int questions;
};

/* one: 10.0.0.1; two: both addresses; six: an IPv6 one; empty: the name without an address; mute:
 * no answer; broken: SERVFAIL; all others: NXDOMAIN. */
static size_t answer(const unsigned char *question, size_t size, unsigned char *reply) {
    const char *label = (const char *)question + 13;
    unsigned type = question[size - 3];
    unsigned addresses = strncmp(label, "two", 3) == 0 ? 2 : strncmp(label, "one", 3) == 0;
    bool is_six = strncmp(label, "six", 3) == 0;
    bool is_known = addresses || is_six || strncmp(label, "empty", 5) == 0;
    unsigned count = type == 1 ? addresses : type == 28 ? is_six : 0;
    if (strncmp(label, "mute", 4) == 0) {
        return 0;
    }
    memcpy(reply, question, size);
    reply[2] = 0x81;
    reply[3] = (unsigned char)(0x80 | (strncmp(label, "broken", 6) == 0 ? 2 : is_known ? 0 : 3));
    reply[7] = (unsigned char)count;
    memset(reply + 8, 0, 4);
    for (unsigned i = 1; i <= count; i++) {
        unsigned length = type == 1 ? 4 : 16;
        unsigned char record[] = {0xC0, 12, 0, (unsigned char)type,  0, 1, 0, 0,
                                  0,    60, 0, (unsigned char)length};
        memcpy(reply + size, record, sizeof record);
        size += sizeof record;
        memset(reply + size, 0, length);
        reply[size] = type == 1 ? 10 : 0xFD;
        reply[size + length - 1] = (unsigned char)i;
        size += length;
    }
    return size;
}

static void *serve(void *context) {
    struct names *names = context;
    unsigned char question[512], reply[1024];
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    ssize_t size;
    while ((size = recvfrom(names->fd, question, sizeof question, 0, (struct sockaddr *)&from,
                            &from_size)) > 16) {
        /* Additional records (EDNS) are cut off: the question ends after its zero label. */
        size_t end = 12 + strlen((const char *)question + 12) + 5;
        question[11] = 0;
        atomic_fetch_add(&names->questions, 1);
        size_t length = end <= (size_t)size ? answer(question, end, reply) : 0;
        if (length) {
            sendto(names->fd, reply, length, 0, (struct sockaddr *)&from, from_size);
        }
        from_size = sizeof from;
    }
    return NULL;
}

static void names_open(struct names *names) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof address;
    names->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(bind(names->fd, (struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(names->fd, (struct sockaddr *)&address, &size) == 0);
    names->port = ntohs(address.sin_port);
    pthread_create(&names->thread, NULL, serve, names);
}

static void names_close(struct names *names) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)names->port),
                                  .sin_addr.s_addr = htonl(0x7f000001)};
    sendto(names->fd, "end", 3, 0, (struct sockaddr *)&address, sizeof address);
    pthread_join(names->thread, NULL);
    close(names->fd);
}

static struct names names;

static struct resolver *resolver_of(void) {
    AUTO(text_freep) char *servers = x_printf("127.0.0.1:%d", names.port);
    return resolver_new(servers);
}

static void test_answers(void) {
    static const struct {
        const char *host, *addresses;
        enum error_kind kind;
        int timeout_ms;
    } rows[] = {
        {"one.windlass.test", "10.0.0.1", 0, 60000},
        {"two.blob.windlass.test", "10.0.0.1,10.0.0.2", 0, 60000},
        {"six.windlass.test", "fd00::1", 0, 60000},
        {"127.0.0.1", "127.0.0.1", 0, 60000},
        {"::1", "::1", 0, 60000},
        {"empty.windlass.test", NULL, ERROR_NOT_FOUND, 60000},
        {"missing.blob.windlass.test", NULL, ERROR_NOT_FOUND, 60000},
        {"mute.windlass.test", NULL, ERROR_TIMEOUT, 300},
        {"broken.windlass.test", NULL, ERROR_UNAVAILABLE, 60000},
        {"a..b", NULL, ERROR_INVALID, 60000},
    };
    struct resolver *resolver = resolver_of();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *addresses = NULL;
        int64_t start_ms = clock_monotonic_ms();
        int result = resolver_find(resolver, rows[i].host, rows[i].timeout_ms, &addresses, &err);
        if (err.kind != rows[i].kind) {
            printf("# %s: %s\n", rows[i].host, err.text);
        }
        CHECK_INT(result, rows[i].kind ? -1 : 0);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK(clock_monotonic_ms() - start_ms < rows[i].timeout_ms + 15000);
        if (rows[i].addresses) {
            CHECK_STR(addresses, rows[i].addresses);
        }
    }
    resolver_free(resolver);
}

static void test_answers_are_kept(void) {
    struct resolver *resolver = resolver_of();
    int before = atomic_load(&names.questions);
    for (int i = 0; i < 3; i++) {
        struct error err = {0};
        AUTO(text_freep) char *addresses = NULL;
        CHECK_OK(resolver_find(resolver, "one.windlass.test", 5000, &addresses, &err), &err);
        CHECK_STR(addresses, "10.0.0.1");
    }
    CHECK_INT(atomic_load(&names.questions) - before, 2); /* of each kind of address one */
    /* More names than the cache keeps. */
    for (int i = 0; i < 40; i++) {
        struct error err = {0};
        AUTO(text_freep) char *addresses = NULL;
        AUTO(text_freep) char *host = x_printf("one.%d.windlass.test", i);
        CHECK_OK(resolver_find(resolver, host, 5000, &addresses, &err), &err);
    }
    resolver_free(resolver);
}

static void test_this_machines_files(void) {
    struct resolver *resolver = resolver_new(NULL);
    struct error err = {0};
    AUTO(text_freep) char *addresses = NULL;
    CHECK_OK(resolver_find(resolver, "localhost", 5000, &addresses, &err), &err);
    CHECK(addresses && (strstr(addresses, "127.0.0.1") || strstr(addresses, "::1")));
    resolver_free(resolver);
}

int main(void) {
    names_open(&names);
    TEST(test_answers);
    TEST(test_answers_are_kept);
    TEST(test_this_machines_files);
    names_close(&names);
    return TEST_END();
}
