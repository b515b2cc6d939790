// SPDX-License-Identifier: Apache-2.0
#include "lib/net/resolver.h"

#include "lib/buffer.h"
#include "lib/time/clock.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ADDRESSES_MAX = 8,
    HOSTS_KEPT = 16,
    SOCKETS_MAX = 8,          /* a query needs two or three */
    SERVER_TIMEOUT_MS = 2000, /* of the first try; c-ares doubles it */
    SERVER_TRIES = 3,
    /* Names with two dots are queried unchanged before search domains are added: Kubernetes sets
     * ndots to 5, so every storage account would first be queried in four domains. */
    DOTS = 2,
};

struct found {
    char *host, *addresses;
    int64_t found_ms;
};

struct resolver {
    char *servers;
    pthread_mutex_t lock; /* guards what follows */
    struct found kept[HOSTS_KEPT];
};

static void initialise(void) {
    ares_library_init(ARES_LIB_INIT_ALL);
}

struct resolver *resolver_new(const char *servers) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    struct resolver *resolver = x_calloc(1, sizeof *resolver);
    resolver->servers = x_strdup(servers);
    pthread_mutex_init(&resolver->lock, NULL);
    return resolver;
}

static void found_release(struct found *found) {
    free(found->host);
    free(found->addresses);
    *found = (struct found){0};
}

void resolver_free(struct resolver *resolver) {
    if (!resolver) {
        return;
    }
    for (size_t i = 0; i < HOSTS_KEPT; i++) {
        found_release(&resolver->kept[i]);
    }
    pthread_mutex_destroy(&resolver->lock);
    free(resolver->servers);
    free(resolver);
}

/* ---- the cache ------------------------------------------------------------------------------ */

static char *recall(struct resolver *resolver, const char *host) {
    int64_t now_ms = clock_monotonic_ms();
    char *addresses = NULL;
    pthread_mutex_lock(&resolver->lock);
    for (size_t i = 0; i < HOSTS_KEPT && !addresses; i++) {
        const struct found *found = &resolver->kept[i];
        if (found->host && strcmp(found->host, host) == 0 &&
            now_ms - found->found_ms < RESOLVER_KEPT_MS) {
            addresses = x_strdup(found->addresses);
        }
    }
    pthread_mutex_unlock(&resolver->lock);
    return addresses;
}

static void keep(struct resolver *resolver, const char *host, const char *addresses) {
    pthread_mutex_lock(&resolver->lock);
    struct found *oldest = &resolver->kept[0];
    for (size_t i = 0; i < HOSTS_KEPT; i++) {
        struct found *found = &resolver->kept[i];
        if (found->host && strcmp(found->host, host) == 0) {
            oldest = found;
            break;
        }
        if (found->found_ms < oldest->found_ms) {
            oldest = found;
        }
    }
    found_release(oldest);
    *oldest = (struct found){x_strdup(host), x_strdup(addresses), clock_monotonic_ms()};
    pthread_mutex_unlock(&resolver->lock);
}

/* ---- a query -------------------------------------------------------------------------------- */

struct question {
    bool is_over;
    int status;
    char addresses[ADDRESSES_MAX * (INET6_ADDRSTRLEN + 1)];
};

static void add_address(struct question *question, const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "";
    const void *bytes = address->sa_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    size_t length = strlen(question->addresses);
    if (inet_ntop(address->sa_family, bytes, text, sizeof text)) {
        snprintf(question->addresses + length, sizeof question->addresses - length, "%s%s",
                 length ? "," : "", text);
    }
}

static void note(void *context, int status, int timeouts, struct ares_addrinfo *result) {
    (void)timeouts;
    struct question *question = context;
    question->is_over = true;
    question->status = status;
    int count = 0;
    for (const struct ares_addrinfo_node *node = result ? result->nodes : NULL;
         node && count < ADDRESSES_MAX; node = node->ai_next, count++) {
        add_address(question, node->ai_addr);
    }
    ares_freeaddrinfo(result);
}

/* Waits for the end of the query; cancels it, which ends it, when time is up. */
static void wait_for(ares_channel channel, struct question *question, int timeout_ms) {
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    while (!question->is_over) {
        ares_socket_t sockets[SOCKETS_MAX];
        struct pollfd fds[SOCKETS_MAX];
        nfds_t count = 0;
        int ready = ares_getsock(channel, sockets, SOCKETS_MAX);
        for (int i = 0; i < SOCKETS_MAX; i++) {
            int events = (ARES_GETSOCK_READABLE(ready, i) ? POLLIN : 0) |
                         (ARES_GETSOCK_WRITABLE(ready, i) ? POLLOUT : 0);
            if (events) {
                fds[count++] = (struct pollfd){.fd = sockets[i], .events = (short)events};
            }
        }
        int64_t left_ms = end_ms - clock_monotonic_ms();
        struct timeval most = {left_ms / 1000, left_ms % 1000 * 1000}, room;
        if (left_ms <= 0) {
            ares_cancel(channel);
            return;
        }
        const struct timeval *next = ares_timeout(channel, &most, &room);
        int wait_ms = (int)(next->tv_sec * 1000 + next->tv_usec / 1000) + 1;
        poll(fds, count, wait_ms);
        for (nfds_t i = 0; i < count; i++) {
            bool reads = fds[i].revents & (POLLIN | POLLERR | POLLHUP);
            ares_process_fd(channel, reads ? fds[i].fd : ARES_SOCKET_BAD,
                            fds[i].revents & POLLOUT ? fds[i].fd : ARES_SOCKET_BAD);
        }
        ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* handles timeouts */
    }
}

static int ask(const char *servers, const char *host, int timeout_ms, struct question *question,
               struct error *err) {
    ares_channel channel = NULL;
    char lookups[] = "fb"; /* files, then servers */
    struct ares_options options = {
        .timeout = SERVER_TIMEOUT_MS, .tries = SERVER_TRIES, .ndots = DOTS, .lookups = lookups};
    int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_LOOKUPS;
    int status = ares_init_options(&channel, &options, mask);
    if (status == ARES_SUCCESS && servers) {
        status = ares_set_servers_ports_csv(channel, servers);
    }
    if (status != ARES_SUCCESS) {
        ares_destroy(channel);
        return error_set(err, ERROR_UNAVAILABLE, "%s: cannot query the name servers: %s", host,
                         ares_strerror(status));
    }
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    ares_getaddrinfo(channel, host, NULL, &hints, note, question);
    wait_for(channel, question, timeout_ms);
    ares_destroy(channel);
    return 0;
}

static int refuse(const char *host, int status, struct error *err) {
    switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
        return error_set(err, ERROR_NOT_FOUND, "%.200s: host not found", host);
    case ARES_EBADNAME:
        return error_set(err, ERROR_INVALID, "%.200s: not a host name", host);
    case ARES_ECANCELLED:
    case ARES_ETIMEOUT:
        return error_set(err, ERROR_TIMEOUT, "%.200s: no name server answered in time", host);
    default:
        return error_set(err, ERROR_UNAVAILABLE, "%.200s: the name servers failed: %s", host,
                         ares_strerror(status));
    }
}

static bool is_address(const char *host) {
    struct in6_addr bytes;
    return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1;
}

int resolver_find(struct resolver *resolver, const char *host, int timeout_ms, char **ret_addresses,
                  struct error *err) {
    char *known = is_address(host) ? x_strdup(host) : recall(resolver, host);
    if (known) {
        *ret_addresses = known;
        return 0;
    }
    struct question question = {0};
    if (ask(resolver->servers, host, timeout_ms, &question, err) < 0) {
        return -1;
    }
    if (question.status != ARES_SUCCESS || !question.addresses[0]) {
        return refuse(host, question.status == ARES_SUCCESS ? ARES_ENODATA : question.status, err);
    }
    keep(resolver, host, question.addresses);
    *ret_addresses = x_strdup(question.addresses);
    return 0;
}
