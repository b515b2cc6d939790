/* preauth.h: which of a server's connections may stay that have not shown the server's token yet,
 * as sshd's MaxStartups and PerSourceMaxStartups: PREAUTH_MAX in all, PREAUTH_SOURCE_MAX of one
 * address, PREAUTH_NETWORK_MAX of one IPv6 network. A full table makes room for a newcomer by
 * closing the oldest connection of the address that holds the most; if each address holds one young
 * connection, one of them is closed at random. So a newcomer is always admitted, also during a
 * flood from many addresses, and most likely shows the token before it is closed itself. Pure: the
 * caller passes time and chance, and accepts and closes connections. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    PREAUTH_MAX = 64,
    PREAUTH_SOURCE_MAX = 8,   /* loopback addresses, which only the same pod has, may have all */
    PREAUTH_NETWORK_MAX = 32, /* of 64 bits: all pods of a node, or one host with many addresses */
    PREAUTH_GRACE_MS = 500,   /* a younger connection is closed only for the sake of a source that
                                 holds fewer: a TLS handshake may take this long */
};

struct sockaddr;

struct preauth_source {
    uint8_t bytes[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
    bool is_loopback;
};

struct preauth {
    struct preauth_entry {
        struct preauth_source source;
        int64_t since_ms; /* clock_monotonic_ms() */
        void *connection; /* borrowed, not NULL */
    } entries[PREAUTH_MAX];
    int count;
};

/* The source of a peer's address; of an unknown family: all zeros. */
struct preauth_source preauth_source_of(const struct sockaddr *address);

/* What is known about a newcomer. chance: a random number that no one can foresee. */
struct preauth_newcomer {
    struct preauth_source source;
    int64_t now_ms;
    uint32_t chance;
};
/* Whether it may be opened. *ret_evicted is then the connection that the caller must remove and
 * close first, or NULL. */
bool preauth_admits(const struct preauth *preauth, const struct preauth_newcomer *newcomer,
                    void **ret_evicted);

/* Adds a connection. The caller has asked preauth_admits; false: the table is full. */
bool preauth_add(struct preauth *preauth, const struct preauth_source *source, int64_t now_ms,
                 void *connection);

/* Call it when a connection has shown the token, or is closed. An unknown one is ignored. */
void preauth_remove(struct preauth *preauth, const void *connection);

/* A connection that was opened before `before_ms`, or NULL. */
void *preauth_older_than(const struct preauth *preauth, int64_t before_ms);
