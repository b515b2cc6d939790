// SPDX-License-Identifier: Apache-2.0
#include "lib/net/preauth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

static bool is_v4(const struct preauth_source *source) {
    return memcmp(source->bytes, mapped, sizeof mapped) == 0;
}

struct preauth_source preauth_source_of(const struct sockaddr *address) {
    struct preauth_source source = {0};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        memcpy(source.bytes, mapped, sizeof mapped);
        memcpy(source.bytes + sizeof mapped, &v4.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(source.bytes, v6.sin6_addr.s6_addr, sizeof source.bytes);
        source.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    source.is_loopback |= is_v4(&source) && source.bytes[12] == 127;
    return source;
}

static bool is_same(const struct preauth_source *a, const struct preauth_source *b) {
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static int count_of(const struct preauth *preauth, const struct preauth_source *source) {
    int count = 0;
    for (int i = 0; i < preauth->count; i++) {
        count += is_same(&preauth->entries[i].source, source);
    }
    return count;
}

static bool is_in_network(const struct preauth_source *a, const struct preauth_source *b) {
    return !is_v4(a) && !is_v4(b) && memcmp(a->bytes, b->bytes, 8) == 0;
}

static int count_of_network(const struct preauth *preauth, const struct preauth_source *source) {
    int count = 0;
    for (int i = 0; i < preauth->count; i++) {
        count += is_in_network(&preauth->entries[i].source, source);
    }
    return count;
}

/* The entry of `source` that has been there the longest. */
static const struct preauth_entry *oldest_of(const struct preauth *preauth,
                                             const struct preauth_source *source) {
    for (int i = 0; i < preauth->count; i++) {
        if (is_same(&preauth->entries[i].source, source)) {
            return &preauth->entries[i];
        }
    }
    return NULL;
}

/* The oldest entry of the source with the most entries; of the one that came first, if several.
 * network: only of this one's network, or NULL. */
static const struct preauth_entry *greediest(const struct preauth *preauth,
                                             const struct preauth_source *network, int *ret_count) {
    const struct preauth_entry *found = NULL;
    int most = 0;
    for (int i = 0; i < preauth->count; i++) {
        const struct preauth_source *source = &preauth->entries[i].source;
        int count = network && !is_in_network(source, network) ? 0 : count_of(preauth, source);
        if (count > most) {
            most = count;
            found = &preauth->entries[i];
        }
    }
    *ret_count = most;
    return found;
}

/* One of them all, or of a network's; there is one. */
static const struct preauth_entry *
by_chance(const struct preauth *preauth, const struct preauth_source *network, uint32_t chance) {
    int count = network ? count_of_network(preauth, network) : preauth->count;
    int left = (int)(chance % (uint32_t)count), i = 0;
    for (;; i++) {
        if ((!network || is_in_network(&preauth->entries[i].source, network)) && left-- == 0) {
            return &preauth->entries[i];
        }
    }
}

bool preauth_admits(const struct preauth *preauth, const struct preauth_newcomer *newcomer,
                    void **ret_evicted) {
    const struct preauth_source *source = &newcomer->source;
    int own = count_of(preauth, source), most = 0;
    bool source_is_full = own >= PREAUTH_SOURCE_MAX && !source->is_loopback;
    bool network_is_full =
        count_of_network(preauth, source) >= PREAUTH_NETWORK_MAX && !source->is_loopback;
    *ret_evicted = NULL;
    if (!source_is_full && !network_is_full && preauth->count < PREAUTH_MAX) {
        return true;
    }
    const struct preauth_entry *evicted =
        source_is_full ? oldest_of(preauth, source)
                       : greediest(preauth, network_is_full ? source : NULL, &most);
    /* The young ones go only where another holds more than the newcomer would. */
    if (most <= own + 1 && newcomer->now_ms - evicted->since_ms < PREAUTH_GRACE_MS) {
        if (own > 0) {
            return false;
        }
        evicted = by_chance(preauth, network_is_full ? source : NULL, newcomer->chance);
    }
    *ret_evicted = evicted->connection;
    return true;
}

bool preauth_add(struct preauth *preauth, const struct preauth_source *source, int64_t now_ms,
                 void *connection) {
    if (preauth->count >= PREAUTH_MAX) {
        return false;
    }
    preauth->entries[preauth->count++] = (struct preauth_entry){*source, now_ms, connection};
    return true;
}

void preauth_remove(struct preauth *preauth, const void *connection) {
    for (int i = 0; i < preauth->count; i++) {
        if (preauth->entries[i].connection == connection) {
            preauth->count--;
            memmove(&preauth->entries[i], &preauth->entries[i + 1],
                    (size_t)(preauth->count - i) * sizeof preauth->entries[0]);
            return;
        }
    }
}

void *preauth_older_than(const struct preauth *preauth, int64_t before_ms) {
    return preauth->count > 0 && preauth->entries[0].since_ms < before_ms
               ? preauth->entries[0].connection
               : NULL;
}
